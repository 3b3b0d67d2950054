"""Work on a GPU that is recorded and replayed."""

from contextlib import contextmanager

import pytest
import torch

from grande_gnn.images import recording
from grande_gnn.images.recording import Recording, waits_for_gpu

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device: work is recorded there"
)


@pytest.fixture
def modes(monkeypatch):
    """The modes that were set, without a GPU."""
    seen = []
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", seen.append)
    return seen


def refuse():
    raise RuntimeError("called a synchronizing CUDA operation")


def exhaust():
    raise torch.OutOfMemoryError("no memory")


def test_a_call_that_waits_is_noticed_and_the_mode_is_set_back(modes):
    assert waits_for_gpu(refuse)
    assert not waits_for_gpu(lambda: None)
    with pytest.raises(torch.OutOfMemoryError):
        waits_for_gpu(exhaust)
    assert modes == ["error", 0] * 3


def test_the_generator_is_registered_before_anything_is_recorded(monkeypatch):
    seen = []

    class Graph:
        def register_generator_state(self, generator):
            seen.append(generator)

        def replay(self):
            seen.append("replay")

    @contextmanager
    def record(graph, **more):
        seen.append("record")
        yield

    monkeypatch.setattr(recording.torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(recording.torch.cuda, "graph", record)
    run = Recording(lambda: "result", "generator")
    assert [run.replay(), run.replay()] == ["result", "result"]
    assert seen == ["generator", "record", "replay", "replay"]


@needs_cuda
def test_random_numbers_are_those_of_the_generator():
    generators = [torch.Generator("cuda").manual_seed(3) for _ in range(2)]

    def draw(generator):
        return torch.rand(4, generator=generator, device="cuda")

    assert torch.equal(draw(generators[0]), draw(generators[1]))
    recorded = Recording(lambda: draw(generators[0]), generators[0])
    for _ in range(3):
        assert torch.equal(recorded.replay(), draw(generators[1]))


@needs_cuda
def test_a_copy_to_the_cpu_waits_for_the_gpu():
    values = torch.ones(3, device="cuda")
    assert waits_for_gpu(lambda: float(values.sum()))
    assert not waits_for_gpu(lambda: values.sum())
