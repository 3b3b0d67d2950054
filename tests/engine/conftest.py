"""Without a GPU, Triton's interpreter runs the kernels; it must be chosen before they are imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
