"""An epoch that is recorded and replayed is the same epoch; progress waits for the epoch before."""

import sys
from types import SimpleNamespace

import pytest
import torch

from grande_gnn.engine.cuda.replay import LaunchFree, OneBehind

needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device: a graph is recorded"
)


@needs_gpu
def test_a_recorded_epoch_is_replayed():
    counter, calls = torch.zeros((), device="cuda"), []

    def epoch():
        calls.append(1)
        counter.add_(1)

    step = LaunchFree(epoch, warm_up=2)
    for _ in range(10):
        step()
    assert counter.item() == 10
    assert len(calls) == 3  # twice to warm up, once to record


def test_waiting_is_for_the_moment_before(monkeypatch):
    log = []

    class Event:
        def __init__(self):
            self.number = len([entry for entry in log if entry[0] == "record"])

        def record(self):
            log.append(("record", self.number))

        def synchronize(self):
            log.append(("wait", self.number))

    monkeypatch.setattr(torch.cuda, "Event", Event)
    behind = OneBehind()
    for _ in range(3):
        behind.wait()
    assert log == [("record", 0), ("record", 1), ("wait", 0), ("record", 2), ("wait", 1)]


def test_warming_up_runs_the_epoch_and_then_only_the_recording(monkeypatch):
    """The order of warm-up, recording and replay, with a stand-in for CUDA."""
    log = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *_):
            log.append(f"end {self.name}")

        def wait_stream(self, other):
            pass

    stream = Context("stream")
    cuda = SimpleNamespace(
        current_device=lambda: 0,
        current_stream=lambda: stream,
        stream=lambda s: s,
        graph=lambda graph, stream: Context("recording"),
        CUDAGraph=lambda: SimpleNamespace(replay=lambda: log.append("replay")),
    )
    module = sys.modules[LaunchFree.__module__]
    monkeypatch.setattr(module, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(module, "_stream", lambda device: stream)
    step = LaunchFree(lambda: log.append("epoch"), warm_up=1)
    for _ in range(3):
        step()
    assert log == [
        "stream", "epoch", "end stream", "recording", "epoch", "end recording", "replay", "replay",
    ]  # fmt: skip
