"""Nodes, pods, groups, quotas and budgets, drawn from the seed: more than there is room for."""

import random
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.integration import grouping
from tests.integration.making import Raw, node, pod, priority_class
from tests.integration.storage import PROVISIONER, claim, mounting, storage_class

ZONE: Final = "topology.kubernetes.io/zone"
ZONES: Final = ("a", "b", "c")
NODES, NODE_CPU = 12, 4
SPARE_NODE_CPU: Final = 64
TENANT: Final = "tenant"
QUOTA_CPU: Final = 4
KIND: Final = "chaos/kind"
SET: Final = "chaos/set"
CLASS: Final = "made"
BUDGET: Final = 10
BUDGET_PATH: Final = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/plain"
PRIORITIES: Final = {"middle": 100, "high": 1000}


class Step(NamedTuple):
    """What is created at which second of the run; and how many plain pods end then."""

    at: float
    objects: list[Raw]
    ends: int = 0


def world() -> list[Raw]:
    """What is there before the first pod."""
    nodes = [
        node(f"n{i:02}", cpu=str(NODE_CPU), labels={ZONE: ZONES[i % len(ZONES)]})
        for i in range(NODES)
    ]
    classes = [priority_class(name, value) for name, value in PRIORITIES.items()]
    quota = grouping.quota(TENANT, {"cpu": "2"}, {"cpu": str(QUOTA_CPU)})
    disks = storage_class(CLASS, PROVISIONER)
    return [*nodes, *classes, grouping.namespace(TENANT), quota, _budget(), disks]


def spare_nodes() -> list[Raw]:
    """Room for everybody that fits anywhere."""
    return [node(f"spare-{zone}", cpu=str(SPARE_NODE_CPU), labels={ZONE: zone}) for zone in ZONES]


def plan(rng: random.Random, seconds: float) -> list[Step]:
    """The pods of a run that goes on for so long."""
    steps = [Step(0.0, [_plain(rng, f"first-{i}") for i in range(62)])]
    at, number = 1.0, 0
    while at < seconds:
        number += 1
        steps.append(Step(at, _draw(rng, number), rng.choice((0, 0, 1, 2, 4))))
        at += rng.uniform(0.4, 1.6)
    return steps


def _draw(rng: random.Random, number: int) -> list[Raw]:
    make = rng.choices([maker for maker, _ in MAKERS], [weight for _, weight in MAKERS])[0]
    return make(rng, number)


def _plain(rng: random.Random, name: str) -> Raw:
    cpu = rng.choice(("250m", "500m", "500m", "1", "1500m"))
    return pod(name, cpu=cpu, labels={KIND: "plain"}, **_ends_after(rng))


def _plains(rng: random.Random, number: int) -> list[Raw]:
    return [_plain(rng, f"plain-{number}-{i}") for i in range(rng.randint(1, 6))]


def _urgent(rng: random.Random, number: int) -> list[Raw]:
    """Pods that evict others."""
    labels, cpu = {KIND: "urgent"}, rng.choice(("500m", "1", "2"))
    return [
        pod(f"urgent-{number}-{i}", cpu=cpu, labels=labels, priorityClassName="high")
        for i in range(rng.randint(1, 2))
    ]


def _gang(rng: random.Random, number: int, missing: int = 0) -> list[Raw]:
    name, size = f"gang-{number}", rng.randint(3, 5)
    class_name = rng.choice((None, None, "middle"))
    more = {} if class_name is None else {"priorityClassName": class_name}
    pods = grouping.members(name, size - missing, "500m", **more, **_ends_after(rng))
    for each in pods:
        each["metadata"]["labels"][KIND] = "gang" if not missing else "incomplete"
    return [grouping.group(name, size), *pods]


def _incomplete(rng: random.Random, number: int) -> list[Raw]:
    return _gang(rng, number, missing=1)


def _apart(rng: random.Random, number: int) -> list[Raw]:
    """Pods that do not want to be on one node."""
    labels = {KIND: "apart", SET: f"apart-{number}"}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return [
        pod(f"apart-{number}-{i}", cpu="250m", labels=labels, affinity=affinity)
        for i in range(rng.randint(2, 5))
    ]


def _spread(rng: random.Random, number: int) -> list[Raw]:
    """Pods in all zones alike; important, so that none is evicted."""
    labels = {KIND: "spread", SET: f"spread-{number}"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    spec: Raw = {"topologySpreadConstraints": [constraint], "priorityClassName": "high"}
    return [
        pod(f"spread-{number}-{i}", cpu="250m", labels=labels, **spec)
        for i in range(rng.randint(2, 5))
    ]


def _tenants(rng: random.Random, number: int) -> list[Raw]:
    labels = {KIND: "tenant"}
    return [
        pod(f"tenant-{number}-{i}", namespace=TENANT, cpu="500m", labels=labels)
        for i in range(rng.randint(1, 4))
    ]


def _volumes(rng: random.Random, number: int) -> list[Raw]:
    """Pods with a volume each, which is made in the zone that their node is in."""
    made = []
    for index in range(rng.randint(1, 3)):
        name = f"volume-{number}-{index}"
        mounted = mounting(name)
        made += [
            claim(name, CLASS),
            pod(name, cpu="250m", labels={KIND: "volume"}, volumes=mounted),
        ]
    return made


def _huge(rng: random.Random, number: int) -> list[Raw]:
    return [pod(f"huge-{number}", cpu="500", labels={KIND: "huge"})]


def _ends_after(rng: random.Random) -> Raw:
    return {"terminationGracePeriodSeconds": rng.choice((0, 0, 30))}


def _budget() -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "plain", "namespace": "default"},
        "spec": {"minAvailable": BUDGET, "selector": {"matchLabels": {KIND: "plain"}}},
    }


MAKERS: Final[tuple[tuple[Callable[[random.Random, int], list[Raw]], int], ...]] = (
    (_plains, 4),
    (_urgent, 5),
    (_gang, 5),
    (_incomplete, 1),
    (_apart, 2),
    (_spread, 2),
    (_tenants, 2),
    (_volumes, 3),
    (_huge, 1),
)
"""What is created, and how often."""
