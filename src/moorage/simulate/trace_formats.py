"""Traces in known forms: the openb GPU cluster, Philly's jobs, and any table with a mapping."""

import random
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from moorage.api.node import Node
from moorage.config.field_errors import InputError
from moorage.simulate import trace_files
from moorage.simulate.pod_template import (
    GPU,
    GPU_MILLI,
    GPU_MODEL_LABEL,
    WHOLE_GPU,
    Asked,
    Templates,
)
from moorage.simulate.scenario import Arrival, PricedNode, in_order
from moorage.simulate.scenario_schema import TableFile, Trace, quantity_text
from moorage.simulate.trace_table import Row, read_each, read_table

OPENB_NODES: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
OPENB_PODS: Final = (
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
    "creation_time", "deletion_time", "scheduled_time",
)  # fmt: skip
PHILLY_JOBS: Final = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
GPUS_PER_POD: Final = 8
_TIME: Final = "%Y-%m-%d %H:%M:%S"


def read_cluster(table: TableFile, path: str, *, shares_gpus: bool) -> list[PricedNode]:
    """The nodes of a table."""
    if table.format == "moorage":
        columns = mapped(table.columns, trace_files.NODE_COLUMNS, path)
        return trace_files.read_nodes(path, shares_gpus=shares_gpus, columns=columns)
    if table.format == "openb":
        rows = read_table(path, OPENB_NODES, "openb nodes")
        return read_each(rows, lambda row: PricedNode(_openb_node(row, shares_gpus)))
    raise InputError([f"{path}: a {table.format} trace has no nodes"])


def _openb_node(row: Row, shares_gpus: bool) -> Node:
    gpus = row.whole("gpu")
    offered = {
        "cpu": f"{row.whole('cpu_milli')}m",
        "memory": f"{row.whole('memory_mib')}Mi",
        "pods": "1000",
    }
    if gpus:
        offered[GPU] = str(gpus)
        if shares_gpus:
            offered[GPU_MILLI] = str(gpus * WHOLE_GPU)
    labels = {GPU_MODEL_LABEL: row.text("model")} if row.text("model") else {}
    return trace_files.make_node(row.text("sn"), offered, labels)


def mapped(columns: Mapping[str, str], known: tuple[str, ...], path: str) -> dict[str, str] | None:
    """The table's names by our column names, checked; None if nothing is mapped."""
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise InputError(
            f"{path}: columns: {name!r} is none of ours ({', '.join(known)})" for name in unknown
        )
    return dict(columns) or None


class OpenbTrace:
    """An openb trace, read once; its arrivals may depend on the seed."""

    def __init__(self, trace: Trace, path: str, gpu_milli: float) -> None:
        self._trace = trace
        self._gpu_milli = gpu_milli
        rows = read_each(read_table(path, OPENB_PODS, "openb pods"), _openb_pod)
        templates = Templates(shares_gpus=True)
        self._pods = [
            Arrival(time * trace.time_scale, name, templates.of(asked), duration)
            for name, asked, time, duration in rows
        ]

    def arrivals(self, seed: int) -> list[Arrival]:
        """The pods of one run."""
        if self._trace.protocol == "times":
            return list(in_order(self._pods))
        chosen = sorted(self._pods, key=lambda pod: pod.name)
        rng = random.Random(f"fgd/{seed}")
        rng.shuffle(chosen)
        chosen += self._drawn_again(chosen, rng)
        return [
            Arrival(float(second), f"{pod.name}-{second}", pod.template)
            for second, pod in enumerate(chosen)
        ]

    def _drawn_again(self, pods: list[Arrival], rng: random.Random) -> Iterator[Arrival]:
        """More pods, drawn from `pods`, until they ask for `load` times all GPUs."""
        asked = sum(_gpu_milli(pod) for pod in pods)
        while True:
            pod = pods[rng.randrange(len(pods))]
            asked += _gpu_milli(pod)
            if asked > self._trace.load * self._gpu_milli:
                return
            yield pod


def _gpu_milli(pod: Arrival) -> float:
    return pod.template.requests.get(GPU_MILLI, 0.0)


def _openb_pod(row: Row) -> tuple[str, Asked, float, float | None]:
    gpus = row.whole("num_gpu")
    asked = Asked(
        cpu=f"{row.whole('cpu_milli')}m",
        memory=f"{row.whole('memory_mib')}Mi",
        gpu=gpus,
        gpu_milli=row.whole("gpu_milli", WHOLE_GPU) or WHOLE_GPU,
        gpu_model=row.text("gpu_spec"),
        namespace=row.text("qos").lower() or "default",
    )
    start = row.number("creation_time", 0.0)
    end = row.optional_number("deletion_time")
    return row.text("name"), asked, start, None if end is None else max(0.0, end - start)


def read_philly(trace: Trace, path: str) -> list[Arrival]:
    """The jobs of a Philly trace that were submitted in the trace's time span."""
    jobs = read_each(read_table(path, PHILLY_JOBS, "Philly jobs"), _philly_job)
    begin = _moment(trace.start, path) if trace.start else min(at for at, *_ in jobs)
    templates = Templates(shares_gpus=False)
    found: list[Arrival] = []
    for number, (at, duration, gpus, tenant) in enumerate(jobs):
        second = (at - begin).total_seconds() * trace.time_scale
        if second < 0 or (trace.seconds is not None and second >= trace.seconds):
            continue
        sizes = [GPUS_PER_POD] * (gpus // GPUS_PER_POD)
        sizes += [gpus % GPUS_PER_POD] if gpus % GPUS_PER_POD else []
        gang = f"job-{number}" if len(sizes) > 1 else ""
        for member, size in enumerate(sizes):
            asked = Asked(
                namespace=f"vc-{tenant}",
                cpu=_times(quantity_text(trace.cpu_per_gpu), size),
                memory=_times(quantity_text(trace.memory_per_gpu), size),
                gpu=size,
            )
            name = f"job-{number}-{member}"
            template = templates.of(asked)
            found.append(Arrival(second, name, template, duration, gang, len(sizes) if gang else 0))
    if not found:
        raise InputError([f"{path}: no job was submitted in that time"])
    return list(in_order(found))


def _philly_job(row: Row) -> tuple[datetime, float, int, str]:
    try:
        at = datetime.strptime(row.text("timestamp"), _TIME)
    except ValueError:
        raise row.fault("timestamp", f"{row.text('timestamp')!r} is not a time") from None
    gpus = int(row.number("num_gpus", least=1))
    return at, row.number("duration"), gpus, row.text("cluster")


def _moment(text: str, path: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError([f"{path}: start: {text!r} is not a time: write 2017-10-09"]) from None


def _times(quantity: str, count: int) -> str:
    """A quantity multiplied by `count`."""
    number = quantity.rstrip("KMGTPEikm")
    return f"{float(number) * count:g}{quantity[len(number) :]}"
