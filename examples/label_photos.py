"""Label a folder of photos from the few that lie in class folders, and look at the least sure ones.

python examples/label_photos.py photos/ labelled/
"""

import sys

import numpy as np

from grande_gnn import LabelOptions, label_images

photos, out = sys.argv[1:3]
result = label_images(photos, out, LabelOptions(overwrite=True, extractor=(sys.argv[3:] or [None])[0]))
print(result.summary())
for row in np.argsort(result.confidence)[:5]:
    print(
        f"{result.files[row]}: {result.labels[row]} ({result.confidence[row]:.2f}), or {result.runner_up[row]}?"
    )
