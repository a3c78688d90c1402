"""A scenario from flags: a table of nodes and a table of pods."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from moorage.app.input_files import STDIN, title_of
from moorage.config.field_errors import InputError
from moorage.kpi.settings import KpiSettings, TypicalPod
from moorage.simulate import trace_files
from moorage.simulate.pod_template import GPU_MILLI, PodTemplate
from moorage.simulate.scenario import Arrival, FixedArrivals, PodRules, Scenario

TYPICAL_SHARE: Final = 0.95
"""Typical pods are the most frequent ones that together make up this share of all."""
CURVE_POINTS: Final = 200
MOST_LOOKED_AT: Final = 20_000
"""The number of pods that typical pods are derived from."""
DEFAULT_RULES: Final = PodRules()
DEFAULT_KPIS: Final = KpiSettings()


def scenario_of_tables(nodes: str, pods: str, rules: PodRules = DEFAULT_RULES) -> Scenario:
    """The scenario of nodes.csv and pods.csv."""
    if nodes == pods == STDIN:
        raise InputError(["--nodes - --pods -: standard input can be read once: name a file, too"])
    arrivals = trace_files.read_pods(pods)
    shares_gpus = any(GPU_MILLI in arrival.template.requests for arrival in arrivals)
    cluster = trace_files.read_nodes(nodes, shares_gpus=shares_gpus)
    return Scenario(
        name=f"{_name(pods)} on {_name(nodes)}",
        nodes=tuple(cluster),
        sources=(FixedArrivals(arrivals),),
        pods=rules,
        kpis=settings_for(arrivals),
        is_plain=are_plain(arrivals),
    )


def _name(path: str) -> str:
    return Path(title_of(path)).name


def are_plain(arrivals: Iterable[Arrival]) -> bool:
    """Whether pods are in no group, have one priority, and name neither node nor scheduler."""
    priorities = set()
    for arrival in arrivals:
        priorities.add(arrival.template.kind.priority)
        if arrival.group or arrival.node or arrival.template.spec.scheduler_name:
            return False
    return len(priorities) <= 1


def settings_for(arrivals: Iterable[Arrival], given: KpiSettings = DEFAULT_KPIS) -> KpiSettings:
    """KPI settings with the typical pods of a trace, and a sample interval that fits its length."""
    listed = list(islice(arrivals, MOST_LOOKED_AT))
    length = listed[-1].time - listed[0].time if listed else 0.0
    return msgspec.structs.replace(
        given,
        typical=typical_pods(arrival.template for arrival in listed),
        sample_seconds=max(length / CURVE_POINTS, 1e-3),
    )


def typical_pods(templates: Iterable[PodTemplate]) -> tuple[TypicalPod, ...]:
    """The most frequent kinds of pods, which together make up TYPICAL_SHARE of all."""
    counts: Counter[tuple[tuple[str, float], ...]] = Counter(
        tuple(sorted(template.requests.items())) for template in templates
    )
    wanted = TYPICAL_SHARE * counts.total()
    found: list[TypicalPod] = []
    covered = 0
    for requests, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= wanted:
            break
        found.append(TypicalPod(dict(requests), float(count)))
        covered += count
    return tuple(found)
