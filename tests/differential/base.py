"""The plain cluster that features work on: nodes, running pods, and one to schedule."""

from tests.differential.dice import Dice
from tests.differential.draft import Draft
from tests.differential.labels import pod_labels
from tests.differential.words import (
    ARCH,
    HOSTNAME,
    NAMESPACES,
    NODE_VALUES,
    OLD_REGION,
    OLD_ZONE,
    REGION,
    ZONE,
    Json,
)

NODE_CPU = ("3920m", "8", "16", "16", "32")
NODE_MEMORY = ("7900Mi", "16Gi", "32Gi", "64Gi")
NODE_PODS = ("10", "30", "110", "110")
NODE_STORAGE = ("20Gi", "100Gi")
IMAGES = ("nginx:1.25", "redis:7", "busybox", "registry.local/ml/train:v3")
REQUESTS: tuple[dict[str, str], ...] = (
    {},
    {"cpu": "50m"},
    {"cpu": "250m", "memory": "256Mi"},
    {"cpu": "500m", "memory": "1Gi"},
    {"cpu": "1", "memory": "2Gi"},
    {"memory": "512Mi"},
    {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "1Gi"},
)


def node_count(dice: Dice) -> int:
    if dice.small:
        return dice.count(1, 4)
    if dice.chance(0.01):
        return 0
    return dice.count(20, 60) if dice.chance(0.06) else dice.count(1, 12)


def pod_count(dice: Dice, nodes: int, density: float) -> int:
    most = int(2 * density * nodes) + 2
    return dice.count(0 if density <= 1 else most // 2, most)


def node(dice: Dice, number: int) -> Json:
    name = f"n{number:02}"
    offered = {
        "cpu": dice.pick(NODE_CPU),
        "memory": dice.pick(NODE_MEMORY),
        "pods": dice.pick(NODE_PODS),
        "ephemeral-storage": dice.pick(NODE_STORAGE),
    }
    return {
        "metadata": {"name": name, "labels": _node_labels(dice, name)},
        "spec": {},
        "status": {"allocatable": offered, "capacity": dict(offered)},
    }


def _node_labels(dice: Dice, name: str) -> dict[str, str]:
    labels = {HOSTNAME: name, ARCH: dice.pick(NODE_VALUES[ARCH])}
    if dice.chance(0.9):
        zone, region = dice.pick(NODE_VALUES[ZONE]), dice.pick(NODE_VALUES[REGION])
        old = dice.odd(0.5)
        labels |= {OLD_ZONE if old else ZONE: zone, OLD_REGION if old else REGION: region}
    for key in ("disk", "gen", "node-type", "example.com/rack"):
        if dice.chance(0.5):
            labels[key] = dice.pick(NODE_VALUES[key])
    return labels


def pod(draft: Draft, name: str) -> Json:
    dice = draft.dice
    containers = [_container(dice, number) for number in range(dice.pick((1, 1, 1, 2)))]
    return {
        "metadata": {
            "name": name,
            "namespace": dice.pick(NAMESPACES[:3]),
            "uid": f"uid-{name}",
            "labels": pod_labels(dice, draft.apps),
        },
        "spec": {"schedulerName": "default-scheduler", "containers": containers},
        "status": {},
    }


def _container(dice: Dice, number: int) -> Json:
    requests = dict(dice.pick(REQUESTS))
    return {
        "name": f"c{number}",
        "image": dice.pick(IMAGES),
        "resources": {"requests": requests} if requests else {},
    }


def running_pod(draft: Draft, number: int) -> Json:
    dice = draft.dice
    made = pod(draft, f"p{number}")
    made["spec"]["nodeName"] = dice.pick(draft.node_names) if draft.node_names else "gone"
    day, hour = dice.count(1, 28), dice.count(0, 23)
    made["status"] = {"phase": "Running", "startTime": f"2026-01-{day:02}T{hour:02}:00:00Z"}
    return made


def waiting_pod(draft: Draft) -> Json:
    made = pod(draft, "pending")
    made["status"] = {"phase": "Pending"}
    return made


def namespaces() -> list[Json]:
    env = {"default": "prod", "team-a": "dev", "team-b": "prod", "team-c": "dev"}
    labels = {name: {"kubernetes.io/metadata.name": name, "env": env[name]} for name in NAMESPACES}
    return [{"metadata": {"name": name, "labels": labels[name]}} for name in NAMESPACES]
