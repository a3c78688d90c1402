"""The openb trace and its protocol: nodes, arrivals from a seed, and what a run is measured by."""

import argparse
import csv
import gzip
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.policies.gpu.gpu_request import WHOLE, GPURequest

TUNED = 1.3
"""Pods are added, or taken away, until they ask for so many times the cluster's GPUs."""
POINTS = (80, 90, 95, 100, 130)
CURVE = range(50, 131, 2)
CLASSES = ("cpu", "share", "1", "2", "4", "8")


class TraceNode(NamedTuple):
    """A node: millicores, MiB, devices of 1000 milli, and their model."""

    cpu: int
    memory: int
    gpus: int
    model: str


def trace_file(text: str) -> Path:
    """A file of the trace, for argparse."""
    path = Path(text)
    if not path.is_file():
        zipped = path.with_name(path.name + ".gz")
        hint = f"; did you mean {zipped}?" if zipped.is_file() else ""
        raise argparse.ArgumentTypeError(f"there is no file {path}{hint}")
    return path


def lacking(folder: Path, names: Sequence[str]) -> str | None:
    """What to say where files of a trace are not there: which, and where they are published."""
    gone = [name for name in names if not (folder / name).is_file()]
    if not gone:
        return None
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"no {gone[0]}{more} in {folder}; docs/gpu.md (The traces) says where they are published"


def rows(path: Path) -> list[dict[str, str]]:
    """The lines of a table, compressed or not."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return list(csv.DictReader(text.splitlines()))


def read_nodes(path: Path) -> list[TraceNode]:
    return [
        TraceNode(int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
        for row in sorted(rows(path), key=lambda row: row["sn"])
    ]


def read_pods(path: Path) -> list[GPURequest]:
    return [_request(row) for row in sorted(rows(path), key=lambda row: row["name"])]


def _request(row: dict[str, str]) -> GPURequest:
    count = int(row["num_gpu"])
    models = frozenset(filter(None, (row.get("gpu_spec") or "").split("|")))
    return GPURequest(
        int(row["cpu_milli"]),
        int(row["memory_mib"]),
        count,
        int(row["gpu_milli"]) if count else 0,
        models if count else frozenset(),
    )


def arrivals(pods: list[GPURequest], capacity: int, seed: int) -> list[GPURequest]:
    """The pods shuffled, and some of them again at the end, until they ask for 130 %."""
    chance, limit = random.Random(seed), TUNED * capacity
    order = list(pods)
    chance.shuffle(order)
    total = sum(pod.size for pod in order)
    while total > limit:
        total -= order.pop(chance.randrange(len(order))).size
    while len(order) and total < limit:
        again = chance.choice(pods)
        if total + again.milli > limit:
            break
        total += again.size
        order.append(again)
    return order


def pod_class(pod: GPURequest) -> str:
    if pod.gpus == 0:
        return "cpu"
    return "share" if pod.milli < WHOLE else str(pod.gpus)


class Measures(NamedTuple):
    """What one run allocated, in percent of the GPUs, and which pods it placed before 100 %."""

    alloc: dict[int, float]
    curve: dict[int, float]
    placed: dict[str, float]

    @classmethod
    def of(cls, pods: Sequence[GPURequest], placed: NDArray[np.bool_], capacity: int) -> "Measures":
        sizes = np.array([pod.size for pod in pods])
        arrived = 100 * sizes.cumsum() / capacity
        used = 100 * (sizes * placed).cumsum() / capacity
        at = np.round(arrived)
        alloc, curve = (
            {point: float(used[at == point].mean()) for point in points if (at == point).any()}
            for points in (POINTS, CURVE)
        )
        early = arrived <= 100
        kinds = np.array([pod_class(pod) for pod in pods])
        by_class = {
            kind: float(100 * placed[early & (kinds == kind)].mean())
            for kind in CLASSES
            if (early & (kinds == kind)).any()
        }
        return cls(alloc, curve, by_class)
