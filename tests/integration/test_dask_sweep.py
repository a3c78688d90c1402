"""A sweep on a real Dask scheduler with two workers, one of which is killed half-way."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.simulate import sweep
from moorage.simulate.dask_executor import dask_executor
from tests.unit.simulate.scenarios import (
    KUBE,
    PACKING,
    nodes,
    random_arrivals,
    scenario,
    write_tables,
)

pytest.importorskip("distributed", reason="pip install 'moorage[dask]'")

SECONDS = 60


def _start(*args: str) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", *args], env={**os.environ}, **quiet)  # type: ignore[call-overload, no-any-return]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    address = f"127.0.0.1:{_free_port()}"
    host, port = address.split(":")
    where = ["--host", host, "--port", port, "--no-dashboard"]
    started = [_start("distributed.cli.dask_scheduler", *where)]
    _until(lambda: _answers(address))
    options = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    options += ["--local-directory", str(tmp_path)]
    started += [_start("distributed.cli.dask_worker", *options) for _ in range(2)]
    try:
        _until(lambda: _workers(address) == 2)
        yield f"dask://{address}", started[1:]
    finally:
        for process in started:
            _stop(process)


def _until(check: Any) -> None:
    end = time.monotonic() + SECONDS
    while not check():
        assert time.monotonic() < end, "Dask did not start"
        time.sleep(0.2)


def _answers(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def _workers(address: str) -> int:
    from distributed import Client

    with Client(f"tcp://{address}", set_as_default=False) as client:
        return len(client.scheduler_info()["workers"])


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.long
def test_a_worker_that_is_killed_costs_nothing_but_time(
    dask: tuple[str, list[subprocess.Popen[bytes]]],
) -> None:
    address, workers = dask
    played = scenario(nodes(5), random_arrivals(40, seed=3))
    tasks = sweep.tasks_of([KUBE, PACKING], range(1, 6))
    here, _ = sweep.run_all(played, tasks)
    done: list[int] = []

    def kill_half_way(task: sweep.Task, result: object) -> None:
        done.append(task.seed)
        if len(done) == 3:
            _stop(workers[0])

    with dask_executor(address) as executor:
        there, whole = sweep.run_all(played, tasks, executor, kill_half_way)

    assert whole
    assert len(done) == len(tasks)
    assert workers[0].poll() is not None
    assert msgspec.json.encode(there) == msgspec.json.encode(here)


@pytest.mark.parametrize("address", ["dask://nowhere", "ray://host:1"])
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    tables = write_tables(tmp_path, "name,cpu\nn,1\n", "name,cpu\np,1\n")

    told = CliRunner().invoke(main, ["compare", *tables, "--on", address])

    assert told.exit_code == 2
    assert "write dask://HOST:PORT" in told.stderr
