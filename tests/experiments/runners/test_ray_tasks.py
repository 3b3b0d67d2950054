"""A real Ray cluster of two nodes: the rows of the local runner, even when a worker or a node is lost."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.runners.ray_tasks import RayRunner
from grande_gnn.experiments.schedule import run
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Plan

pytestmark = pytest.mark.cluster
pytest.importorskip("ray", reason="the extra 'ray' is not installed")


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Node:
    """One ``ray start --block`` in a session of its own, so that it can be killed with all it started."""

    def __init__(self, *options):
        ray = Path(sys.executable).with_name("ray")
        environment = {**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [ray, "start", "--block", "--num-cpus=1", "--object-store-memory=100000000", *options],
            env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def pids(self):
        """This node's processes: those whose chain of parents leads to it."""
        parents = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
            except OSError:  # gone meanwhile
                continue
        found, queue = [], [self.process.pid]
        while queue:
            parent = queue.pop()
            found.append(parent)
            queue += [child for child, above in parents.items() if above == parent]
        return found

    def tasks(self):
        """Its processes that run a batch at the moment."""
        return [pid for pid in self.pids() if command_of(pid).startswith(b"ray::measure")]

    def kill(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """A token that Ray left in the home folder would be required by some processes and not by others."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


@pytest.fixture
def cluster():
    if not Path("/proc/self/stat").exists():
        pytest.skip("finding the processes of a node needs /proc")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # Ray's sockets need a short path
        address = f"127.0.0.1:{port}"
        head = Node(
            "--head", f"--port={port}", f"--temp-dir={folder}", "--node-ip-address=127.0.0.1",
            "--include-dashboard=false",
        )  # fmt: skip
        nodes = [head]
        try:
            wait_for_port(port, head.process)
            nodes.append(Node(f"--address={address}"))
            wait_for_nodes(address, 2)
            yield address, nodes
        finally:
            for node in reversed(nodes):
                node.kill()


def wait_for_port(port, process, seconds=90):
    for _ in range(10 * seconds):
        assert process.poll() is None, "ray start ended"
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the head node did not come up")


def wait_for_nodes(address, count, seconds=90):
    code = (
        "import ray, sys, time\n"
        f"for _ in range({seconds}):\n"
        "    try:\n"
        f"        ray.init({address!r}, log_to_driver=False)\n"
        f"        if sum(node['Alive'] for node in ray.nodes()) == {count}: sys.exit(0)\n"
        "        ray.shutdown()\n"
        "    except ConnectionError: pass\n"
        "    time.sleep(1)\n"
        "sys.exit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def measured(store):
    return {(trial, row.fingerprint, row.n_test, row.accuracy) for trial, row in store.finished.items()}


def kill_a_task(nodes):
    """Kill a worker process in the middle of a batch."""
    for _ in range(200):
        running = [pid for node in nodes for pid in node.tasks()]
        if running:
            os.kill(running[0], signal.SIGKILL)
            return
        time.sleep(0.02)
    pytest.fail("no batch was running")


def kill_a_node(nodes):
    nodes.pop().kill()


@pytest.mark.parametrize("kill", [kill_a_task, kill_a_node])
def test_a_lost_worker_costs_no_row(data, tmp_path, cluster, kill):
    address, nodes = cluster
    plan = Plan(
        data=tuple(find_feature_sets(data)), sigmas=(0.1, 0.4), widths=(16,), folds=6, repeats=3, epochs=100,
        n_neighbors=5, inner_folds=2,
    )  # fmt: skip
    sets = {source: load_feature_set(source) for source in plan.data}
    with RowStore(tmp_path / "local.jsonl") as local:
        run(plan, gains_trials(plan), sets, local, LocalRunner(device="cpu"))
    killed = []

    def watch(forecast):
        if not killed and forecast.done >= forecast.total / 4:
            killed.append(forecast.done)
            kill(nodes)

    with RowStore(tmp_path / "ray.jsonl") as spread:
        run(plan, gains_trials(plan), sets, spread, RayRunner(address, "cpu"), watch=watch)
    assert killed
    assert killed[0] < len(spread.finished)
    assert measured(spread) == measured(local)
    assert len((tmp_path / "ray.jsonl").read_text().splitlines()) == len(spread.finished)


def test_an_address_where_nobody_answers_is_one_sentence():
    runner = RayRunner(f"127.0.0.1:{free_port()}", "cpu")
    with pytest.raises(InvalidInputError, match="no Ray cluster answers"):
        list(runner.run([], {}, lambda *progress: None))
