"""Buffers in memory that forked workers fill and this process reads."""

from __future__ import annotations

import multiprocessing
from types import SimpleNamespace

import pytest
import torch

from grande_gnn.images import shared_pixels
from grande_gnn.images.shared_pixels import START_METHOD, SharedPixels, allocate_pixels


def _fill(buffers: SharedPixels, worker: int) -> None:
    buffers.pixels[worker, 1] = 10 + worker


@pytest.mark.skipif(START_METHOD != "fork", reason="workers of this system do not share memory")
def test_what_a_worker_writes_is_seen_here() -> None:
    buffers = SharedPixels(2, 3, (4, 5))
    assert buffers.pixels.shape == (2, 3, 4, 5)
    assert buffers.n_buffers == 3
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_fill, args=(buffers, worker)) for worker in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert (buffers.pixels[0, 1] == 10).all()
    assert (buffers.pixels[1, 1] == 11).all()
    assert (buffers.pixels[:, [0, 2]] == 0).all()


def test_none_where_memory_is_not_shared_or_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_pixels, "START_METHOD", "fork")
    assert isinstance(allocate_pixels(1, 2, (3,)), SharedPixels)
    assert allocate_pixels(1000, 1000, (10**6,)) is None  # more than is ever allowed

    def refuse(*arguments: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(shared_pixels.mmap, "mmap", refuse)
    assert allocate_pixels(1, 2, (3,)) is None
    monkeypatch.undo()
    monkeypatch.setattr(shared_pixels, "START_METHOD", None)
    assert allocate_pixels(1, 2, (3,)) is None


@pytest.mark.parametrize("refused", [0, 1])
def test_memory_is_pinned_for_a_while(monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    calls = []
    runtime = SimpleNamespace(
        cudaHostRegister=lambda address, n_bytes, flags: calls.append(("pin", address, n_bytes)) or refused,
        cudaHostUnregister=lambda address: calls.append(("unpin", address)),
    )
    monkeypatch.setattr(torch.cuda, "cudart", lambda: runtime)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append(("wait",)))
    monkeypatch.setattr(torch, "zeros", lambda *arguments, **options: calls.append(("clear the error",)))
    buffers = SharedPixels(1, 2, (3,))
    address = buffers.pixels.data_ptr()
    with buffers.pinned():
        assert calls[0] == ("pin", address, 6)
    assert calls[1:] == ([("clear the error",)] if refused else [("wait",), ("unpin", address)])
