"""Graph neural networks besides the two diffusion models: one file each, trained by autograd (``engine/plain.py``)."""
