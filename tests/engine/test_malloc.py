"""Large arrays of one epoch are those of the next, and the memory comes back when the training ends."""

import ctypes
import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
from grande_gnn.engine.malloc import freed_memory_kept

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def epoch():
    before = faults()
    for _ in range(5):
        np.ones(2**23)  # 64 MiB, written to
    return faults() - before

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

print(epoch())
with freed_memory_kept():
    epoch()
    print(epoch())
    full = resident()
print(full - resident())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc is told what to keep",
)
def test_freed_memory_is_kept_inside_and_handed_back_afterwards():
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60
    )
    without, kept, handed_back = map(int, answer.stdout.split())
    assert kept < without / 10
    assert handed_back > 60 * 2**20
