"""Correct a labelling from a program: decide about the most useful images, train again, and compare.

python examples/review_in_code.py labelled/ truth.csv corrected/
"""

import csv
import sys

from grande_gnn import Labelling
from grande_gnn.labelling.suggest import suggest

folder, truth_file, out = sys.argv[1:4]
with open(truth_file, newline="", encoding="utf-8") as file:
    truth = {row["file"]: row["label"] for row in csv.DictReader(file)}

before = Labelling.load(folder)
asked = [before.files[row] for row in suggest(before, 10)]
after = before.corrected({name: truth[name] for name in asked})
after.save(out, overwrite=True)

for name, result in (("before", before), ("after", after)):
    right = sum(truth[f] == label for f, label in zip(result.files, result.labels, strict=True))
    print(f"{name}: {right} of {len(result.files)} labels are right")
