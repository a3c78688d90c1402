"""What must never happen, judged by the watch alone.

1. A pod that is on a node stays on it.
2. Nobody puts more on a node than it has, or more in a namespace than its quota's max.
3. Pods that want to be apart are.
4. Of a group that is evicted no part stays that is too small to be one.
"""

import time
from typing import Final, NamedTuple

from tests.chaos.workload import KIND, QUOTA_CPU, SET, TENANT, ZONE
from tests.integration.grouping import LABEL
from tests.integration.making import Raw

UNDER_WAY_SECONDS: Final = 1.0
"""A pod seen on its node so soon after its group was evicted was being bound when it was."""
FINISHED: Final = ("Succeeded", "Failed")


class Violation(NamedTuple):
    """What is wrong, and the uids of the pods that it is about."""

    text: str
    pods: tuple[str, ...]


class Change(NamedTuple):
    """What the watch said of a pod, and when."""

    at: float
    kind: str
    raw: Raw


class Eviction(NamedTuple):
    """When the first pod of a group was marked, and how many its group needs."""

    group: str
    at: float
    needed: int


class Checker:
    """Hears every change of pods, nodes and groups, in order."""

    def __init__(self) -> None:
        self.pods: dict[str, Raw] = {}
        self.nodes: dict[str, Raw] = {}
        self.groups: dict[str, int] = {}
        self.claims: dict[str, Raw] = {}
        self.volumes: dict[str, Raw] = {}
        self.story: dict[str, list[Change]] = {}
        self.violations: list[Violation] = []
        self.binds = 0
        self.evicted: set[str] = set()
        self._bound_at: dict[str, float] = {}
        self._evictions: list[Eviction] = []

    def node(self, kind: str, raw: Raw) -> None:
        self.nodes[raw["metadata"]["name"]] = raw

    def group(self, kind: str, raw: Raw) -> None:
        self.groups[raw["metadata"]["name"]] = raw["spec"]["minMember"]

    def claim(self, kind: str, raw: Raw) -> None:
        self.claims[raw["metadata"]["name"]] = raw

    def volume(self, kind: str, raw: Raw) -> None:
        self.volumes[raw["metadata"]["name"]] = raw

    def pod(self, kind: str, raw: Raw) -> None:
        """Believe a change, and judge it."""
        uid, now = raw["metadata"]["uid"], time.monotonic()
        self.story.setdefault(uid, []).append(Change(now, kind, raw))
        before = self.pods.get(uid)
        self._note_eviction(raw, now)
        if kind == "DELETED":
            self.pods.pop(uid, None)
            return
        self.pods[uid] = raw
        was, is_on = node_of(before or {}), node_of(raw)
        if was and was != is_on:
            self._accuse(f"{name_of(raw)} was on {was} and is on {is_on}", raw)
        if is_on and not was:
            self.binds += 1
            self._bound_at[uid] = now
            self._judge(raw)

    def there(self, node: str) -> list[Raw]:
        """The pods on a node that use something."""
        return [each for each in self.pods.values() if node_of(each) == node and uses(each)]

    def free(self, node: str) -> int:
        """The thousandths of cores that nobody on a node has asked for."""
        has = millis(self.nodes[node]["status"]["allocatable"]["cpu"])
        return has - sum(cpu_of(each) for each in self.there(node))

    def parts_left(self) -> list[Violation]:
        """Groups that were evicted in part."""
        found = []
        for group, at, needed in self._evictions:
            left = [
                uid
                for uid, raw in self.pods.items()
                if group_of(raw) == group and is_running(raw)
                if self._bound_at.get(uid, at + 60) < at + UNDER_WAY_SECONDS
            ]
            if 0 < len(left) < needed:
                text = f"of {group}, which needs {needed}, {len(left)} stayed when it was evicted"
                found.append(Violation(text, tuple(left)))
        return found

    def _judge(self, raw: Raw) -> None:
        node = node_of(raw)
        if node not in self.nodes:
            self._accuse(f"{name_of(raw)} was bound to {node}, which does not exist", raw)
            return
        if self.free(node) < 0:
            self._accuse(f"{name_of(raw)} made {-self.free(node)}m too many on {node}", raw)
        kind = label(raw, KIND)
        if kind == "apart":
            self._judge_apart(raw, node)
        elif kind == "tenant":
            self._judge_quota(raw)

    def _judge_apart(self, raw: Raw, node: str) -> None:
        others = [each for each in self.there(node) if label(each, SET) == label(raw, SET)]
        if len(others) > 1:
            names = ", ".join(map(name_of, others))
            self._accuse(f"{names} are on {node} and want to be apart", *others)

    def _judge_quota(self, raw: Raw) -> None:
        inside = [p for p in self.pods.values() if p["metadata"]["namespace"] == TENANT]
        used = sum(cpu_of(each) for each in inside if node_of(each) and uses(each))
        if used > QUOTA_CPU * 1000:
            self._accuse(f"{name_of(raw)} made its namespace use {used}m", raw)

    def _note_eviction(self, raw: Raw, now: float) -> None:
        uid, group = raw["metadata"]["uid"], group_of(raw)
        if uid in self.evicted or not condition(raw, "DisruptionTarget"):
            return
        self.evicted.add(uid)
        if group in self.groups and node_of(raw):
            self._evictions.append(Eviction(group, now, self.groups[group]))

    def zone(self, node: str) -> str:
        return str(self.nodes[node]["metadata"]["labels"].get(ZONE, ""))

    def _accuse(self, text: str, *pods: Raw) -> None:
        self.violations.append(Violation(text, tuple(p["metadata"]["uid"] for p in pods)))


def condition(raw: Raw, kind: str) -> Raw:
    found = raw.get("status", {}).get("conditions") or []
    return next((each for each in found if each["type"] == kind), {})


def label(raw: Raw, key: str) -> str:
    return str((raw["metadata"].get("labels") or {}).get(key, ""))


def group_of(raw: Raw) -> str:
    return label(raw, LABEL)


def name_of(raw: Raw) -> str:
    return str(raw["metadata"]["name"])


def node_of(raw: Raw) -> str:
    return str(raw.get("spec", {}).get("nodeName") or "")


def uses(raw: Raw) -> bool:
    return raw.get("status", {}).get("phase") not in FINISHED


def is_running(raw: Raw) -> bool:
    return bool(node_of(raw)) and uses(raw) and "deletionTimestamp" not in raw["metadata"]


def cpu_of(raw: Raw) -> int:
    return millis(raw["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def millis(amount: str) -> int:
    return int(amount[:-1]) if amount.endswith("m") else int(amount) * 1000
