"""Stories: what happens to a cluster and to the replicas on it, step by step."""

import random
from typing import Any, Final, NamedTuple

CHURN: Final = {
    "pod": 8,
    "urgent": 2,
    "apart": 3,
    "spread": 2,
    "gang": 2,
    "delete": 4,
    "end": 6,
    "node": 0.3,
}
"""What users do, and how often: the cluster is full most of the time."""
FAULTS: Final = (
    "kill",
    "freeze",
    "cut",
    "lossy",
    "slow",
    "refuse",
    "tear",
    "expire",
    "stale",
    "partial",
    "jump",
)
WINDOWS: Final = frozenset({"freeze", "cut", "lossy", "slow", "refuse", "stale"})
"""Faults that last; the others happen in a moment."""


class Step(NamedTuple):
    """After `pause` seconds something happens: to `target`, for `seconds` where it lasts."""

    kind: str
    pause: float
    target: int
    seconds: float = 0.0
    number: int = 0


class Story(NamedTuple):
    """A seed for every throw of the dice, and the steps."""

    seed: int
    steps: tuple[Step, ...]


def draw(seed: int, steps: int) -> Story:
    """A story of so many steps."""
    rng = random.Random(seed)
    return Story(seed, tuple(_step(rng, number) for number in range(steps)))


def _step(rng: random.Random, number: int) -> Step:
    if rng.random() < 0.7:
        (kind,) = rng.choices(tuple(CHURN), tuple(CHURN.values()))
    else:
        kind = rng.choice(FAULTS)
    pause = rng.choice((0.0, 0.005, 0.05, 0.4, 2.0))
    seconds = rng.choice((0.2, 1.0, 4.0, 12.0, 20.0)) if kind in WINDOWS else 0.0
    return Step(kind, pause, rng.randrange(1 << 16), seconds, number)


Raw = dict[str, Any]


def node(name: str, cpu: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": name[-1]}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "20"}},
    }


def group(name: str, members: int) -> Raw:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members},
    }


def pod(name: str, cpu: str, labels: Raw, **spec: Any) -> Raw:
    resources = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            "terminationGracePeriodSeconds": 1,
            **spec,
        },
    }


def apart() -> Raw:
    """No two of them on one node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "a"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread() -> list[Raw]:
    return [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"s": "s"}},
        }
    ]
