"""Scenario files: read, checked like a configuration, and made into a scenario."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from moorage.config import strict_decoder, yaml_documents
from moorage.config.field_errors import ConfigError, InputError, Report, invalid, unsupported
from moorage.kpi.settings import KpiSettings
from moorage.simulate import scenario_shapes, trace_files, trace_formats
from moorage.simulate.arrival_generators import CronArrivals, GeneratedArrivals
from moorage.simulate.candidate import read_candidates
from moorage.simulate.cron_schedule import CronSchedule
from moorage.simulate.pod_template import GPU, WHOLE_GPU, Templates
from moorage.simulate.scenario import (
    Arrival,
    FixedArrivals,
    NodeGroup,
    PodRules,
    PricedNode,
    Scaling,
    Scenario,
)
from moorage.simulate.scenario_manifests import read_scenario_manifests
from moorage.simulate.scenario_schema import (
    API_VERSION,
    KIND,
    Deployment,
    GrowingShape,
    PodShape,
    ScenarioConfig,
    Trace,
)
from moorage.simulate.trace_scenario import settings_for


def is_scenario(path: str) -> bool:
    """Whether a file holds a scenario."""
    file = Path(path)
    if not file.is_file() or file.suffix not in yaml_documents.SUFFIXES:
        return False
    content = file.read_bytes()
    if not _is_named(content, KIND):
        return False
    try:
        return bool(yaml_documents.find_documents(content, KIND, path))
    except ConfigError:
        return False


def _is_named(content: bytes, kind: str) -> bool:
    """Whether a UTF-8 or UTF-16 text contains a word: much cheaper than parsing it."""
    return kind.encode() in content.replace(b"\0", b"")


def read_scenario_file(path: str) -> Scenario:
    """The scenario of a file; raises all of its problems at once, each with its line."""
    file = Path(path)
    if not file.is_file():
        raise InputError([f"{path}: no such file"])
    found = yaml_documents.find_only_document(file.read_bytes(), KIND, path)
    report = Report(path, found.places, found.within)
    config = strict_decoder.decode(found.value, ScenarioConfig, report)
    if config is not None:
        _check(config, report)
    report.raise_problems()
    assert config is not None
    return _Builder(config, file, report).build()


def _check(config: ScenarioConfig, report: Report) -> None:
    if config.api_version != API_VERSION:
        report.problem(("apiVersion",), unsupported(config.api_version, (API_VERSION,)))
    cluster, arrivals = config.cluster, config.arrivals
    if not (cluster.nodes or cluster.tables or cluster.manifests or cluster.autoscaler):
        report.problem(("cluster",), "no nodes: name nodes, tables, manifests or an autoscaler")
    if not any(
        (arrivals.traces, arrivals.generators, arrivals.manifests, arrivals.deployments,
         arrivals.cron_jobs, cluster.manifests)
    ):  # fmt: skip
        report.problem(("arrivals",), "no pods: name traces, generators, manifests or workloads")
    if cluster.autoscaler is not None:
        _refuse_count(cluster.autoscaler.nodes, report)
    for i, generator in enumerate(arrivals.generators):
        if not generator.per_hour and generator.bursts is None:
            report.problem(("arrivals", "generators", i), "draws no pods: set perHour or bursts")
        if not generator.pods:
            report.problem(("arrivals", "generators", i, "pods"), "no pods to choose from")
    for i, deployment in enumerate(arrivals.deployments):
        path = ("arrivals", "deployments", i, "pod")
        _refuse_drawing(deployment.pod, report, path)
        if deployment.pod.runs is not None:
            problem = "has no effect: replicas run until there are to be fewer of them"
            report.problem((*path, "runs"), problem)
    for i, job in enumerate(arrivals.cron_jobs):
        path = ("arrivals", "cronJobs", i, "pod")
        _refuse_drawing(job.pod, report, path)
        try:
            CronSchedule(job.schedule)
        except ValueError as error:
            report.problem((*path[:-1], "schedule"), invalid(job.schedule, str(error)))


def _refuse_drawing(pod: PodShape, report: Report, path: tuple[str | int, ...]) -> None:
    """Refuse what only a generator reads."""
    if pod.gang:
        report.problem((*path, "gang"), "has no effect: gangs come from generators and tables")
    if pod.weight != PodShape().weight:
        problem = "has no effect: it says how often a generator draws one of its pods"
        report.problem((*path, "weight"), problem)


def _refuse_count(shapes: Iterable[GrowingShape], report: Report) -> None:
    for i, shape in enumerate(shapes):
        if shape.count is not None:
            problem = (
                "has no effect: most is how many the autoscaler may have, and nodes that are there "
                "from the start belong to cluster.nodes"
            )
            report.problem(("cluster", "autoscaler", "nodes", i, "count"), problem)


class _Builder:
    """Makes the scenario of a file; paths in it start from its folder."""

    def __init__(self, config: ScenarioConfig, file: Path, report: Report) -> None:
        self._config = config
        self._file = file
        self._report = report
        self._shares_gpus = self._shared()
        self._templates = Templates(shares_gpus=self._shares_gpus)
        self._start = self._time(config.start)

    def build(self) -> Scenario:
        config = self._config
        manifests = read_scenario_manifests(
            [self._path(each) for each in config.cluster.manifests],
            [
                ([self._path(each) for each in group.files], group.at_seconds, group.runs_seconds)
                for group in config.arrivals.manifests
            ],
        )
        nodes = [*self._nodes(), *manifests.nodes]
        self._refuse_twins("node", (each.node.name for each in nodes))
        scaling = self._scaling()
        if not nodes and scaling is None:
            raise InputError([f"{self._file}: no nodes: a cluster without nodes runs nothing"])
        self._report.raise_problems()
        sources = tuple(self._sources(nodes, manifests.arrivals))
        self._report.raise_problems()
        fixed = (each for each in sources if isinstance(each, FixedArrivals | CronArrivals))
        listed = chain.from_iterable(each.arrivals(0) for each in fixed)
        self._refuse_twins("pod", (f"{each.template.namespace}/{each.name}" for each in listed))
        targets = KpiSettings(
            slo_wait_seconds=config.kpis.wait_target_seconds, max_skew=config.kpis.max_skew
        )
        pods = config.pods
        made = Scenario(
            name=str(config.metadata.get("name") or self._file.stem),
            nodes=tuple(nodes),
            sources=sources,
            objects=tuple(manifests.objects),
            pods=PodRules(
                pods.stop_seconds, pods.restart_seconds, pods.checkpoint_seconds, pods.retry
            ),
            scaling=scaling,
            beside=tuple(read_candidates([str(self._path(each)) for each in config.schedulers]))
            if config.schedulers
            else (),
            question=config.question,
            horizon=config.horizon_seconds,
            is_plain=self._is_plain(manifests.objects),
        )
        return _with_kpis(made, targets)

    def _refuse_twins(self, what: str, names: Iterable[str]) -> None:
        twins = [name for name, count in Counter(names).items() if count > 1]
        if twins:
            others = f", and {len(twins) - 1} more" if len(twins) > 1 else ""
            problem = f"{what} {twins[0]} is there twice{others}: names are unique"
            raise InputError([f"{self._file}: {problem}"])

    def _is_plain(self, objects: Sequence[object]) -> bool:
        """Whether the pods have one priority, no gangs, and refer to no other objects."""
        arrivals = self._config.arrivals
        shapes = self._shapes()
        alike = len({shape.priority for shape in shapes}) <= 1
        alone = not any(shape.gang or shape.scheduler_name for shape in shapes)
        known = not (self._config.cluster.manifests or arrivals.manifests or objects)
        first = next((shape.priority for shape in shapes), 0)
        traced = all(trace.format == "openb" for trace in arrivals.traces)
        return alike and alone and known and traced and not (arrivals.traces and first)

    def _shapes(self) -> list[PodShape]:
        arrivals = self._config.arrivals
        shapes = [shape for generator in arrivals.generators for shape in generator.pods]
        shapes += [deployment.pod for deployment in arrivals.deployments]
        shapes += [job.pod for job in arrivals.cron_jobs]
        return shapes

    def _sources(self, nodes: list[PricedNode], pods: list[Arrival]) -> Iterable[Any]:
        arrivals = self._config.arrivals
        for i, generator in enumerate(arrivals.generators):
            templates = tuple(
                self._template(shape, ("arrivals", "generators", i, "pods", j))
                for j, shape in enumerate(generator.pods)
            )
            yield GeneratedArrivals(generator, templates, self._start, f"{i}-")
        gpu_milli = sum(_gpus(each) for each in nodes) * WHOLE_GPU
        for trace in arrivals.traces:
            yield self._trace(trace, gpu_milli)
        fixed = [*pods]
        for i, deployment in enumerate(arrivals.deployments):
            fixed += self._replicas(deployment, ("arrivals", "deployments", i, "pod"))
        if fixed:
            yield FixedArrivals(fixed)
        for i, job in enumerate(arrivals.cron_jobs):
            template = self._template(job.pod, ("arrivals", "cronJobs", i, "pod"))
            yield CronArrivals(job, template, self._start, f"{i}")

    def _trace(self, trace: Trace, gpu_milli: float) -> Any:
        path = str(self._path(trace.file))
        if trace.format == "openb":
            return trace_formats.OpenbTrace(trace, path, gpu_milli)
        if trace.format == "philly":
            return FixedArrivals(trace_formats.read_philly(trace, path))
        columns = trace_formats.mapped(trace.columns, trace_files.POD_COLUMNS, path)
        return FixedArrivals(trace_files.read_pods(path, columns))

    def _replicas(self, deployment: Deployment, path: tuple[str | int, ...]) -> Iterable[Arrival]:
        """Each replica, from the step that adds it to the one that removes it, youngest first."""
        template = self._template(deployment.pod, path)
        running: list[tuple[float, str]] = []
        number = 0
        for step in sorted(deployment.scale, key=lambda scale: scale.at_seconds):
            while len(running) < step.replicas:
                running.append((step.at_seconds, f"{deployment.pod.name}-{number}"))
                number += 1
            while len(running) > step.replicas:
                since, name = running.pop()
                yield Arrival(since, name, template, until=step.at_seconds)
        for since, name in running:
            yield Arrival(since, name, template)

    def _nodes(self) -> Iterable[PricedNode]:
        cluster = self._config.cluster
        for i, shape in enumerate(cluster.nodes):
            path = ("cluster", "nodes", i)
            yield from scenario_shapes.make_nodes(
                shape, shape.count, self._shares_gpus, self._report, path
            )
        for table in cluster.tables:
            path_of = str(self._path(table.file))
            yield from trace_formats.read_cluster(table, path_of, shares_gpus=self._shares_gpus)

    def _scaling(self) -> Scaling | None:
        given = self._config.cluster.autoscaler
        if given is None:
            return None
        groups = []
        for i, shape in enumerate(given.nodes):
            path = ("cluster", "autoscaler", "nodes", i)
            if shape.spot is not None and shape.spot.storms:
                problem = "strike nodes that are there from the start: those of cluster.nodes"
                self._report.problem((*path, "spot", "storms"), problem)
            zones = max(1, len(shape.zones))
            samples = scenario_shapes.make_nodes(
                shape, zones, self._shares_gpus, self._report, path
            )
            groups.append(NodeGroup(shape.name, tuple(samples), shape.most, shape.start_seconds))
        return Scaling(tuple(groups), given.every_seconds, given.idle_seconds)

    def _template(self, shape: PodShape, path: tuple[str | int, ...]) -> Any:
        return self._templates.of(scenario_shapes.asked_of(shape, self._report, path))

    def _shared(self) -> bool:
        return any(shape.gpu_milli < WHOLE_GPU for shape in self._shapes()) or any(
            trace.format == "openb" for trace in self._config.arrivals.traces
        )

    def _path(self, given: str) -> Path:
        return self._file.parent / given

    def _time(self, text: str) -> datetime:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            self._report.problem(("start",), invalid(text, "not a time: write 2026-01-05T00:00:00"))
            return datetime(2026, 1, 5)


def _with_kpis(made: Scenario, targets: KpiSettings) -> Scenario:
    """The scenario with KPI settings derived from its own pods."""
    return msgspec.structs.replace(made, kpis=settings_for(made.arrivals_of(1), targets))


def _gpus(each: PricedNode) -> float:
    return float(each.node.status.allocatable.get(GPU, "0"))
