"""What must hold once all is quiet: every pod is on a node, or says truly why it is not."""

from collections import Counter

from tests.chaos.checker import (
    Checker,
    Violation,
    condition,
    cpu_of,
    group_of,
    is_running,
    label,
    name_of,
    node_of,
    uses,
)
from tests.chaos.workload import KIND, SET
from tests.integration.making import Raw


def problems(checker: Checker) -> list[Violation]:
    """What is not so, or not so yet."""
    found = [
        _of_waiting(checker, raw) or _of_bound(raw) or _of_volumes(checker, raw)
        for raw in checker.pods.values()
    ]
    return [each for each in found if each is not None] + checker.parts_left()


def problems_with_room(checker: Checker) -> list[Violation]:
    """The same where there is room for everybody: only those wait that nothing helps."""
    late = [
        _about(raw, "is not on a node, though there is room")
        for raw in checker.pods.values()
        if not node_of(raw)
        and uses(raw)
        and label(raw, KIND) not in ("huge", "incomplete", "tenant")
    ]
    return [*problems(checker), *late, *_gangs_in_part(checker), *_spread_badly(checker)]


def _gangs_in_part(checker: Checker) -> list[Violation]:
    running = Counter(group_of(raw) for raw in checker.pods.values() if is_running(raw))
    return [
        Violation(f"{count} of {group} run, which needs {checker.groups[group]}", ())
        for group, count in running.items()
        if group and count < checker.groups[group]
    ]


def _spread_badly(checker: Checker) -> list[Violation]:
    """Sets whose pods differ by more than one between zones.

    Before all are bound that may be: a binding that is under way, or failed, was counted.
    """
    zones = {checker.zone(name) for name in checker.nodes}
    sets: dict[str, Counter[str]] = {}
    for raw in checker.pods.values():
        if label(raw, KIND) == "spread" and node_of(raw):
            counts = sets.setdefault(label(raw, SET), Counter(dict.fromkeys(zones, 0)))
            counts[checker.zone(node_of(raw))] += 1
    return [
        Violation(f"{name} is spread badly: {dict(counts)}", ())
        for name, counts in sets.items()
        if max(counts.values()) - min(counts.values()) > 1
    ]


def _of_bound(raw: Raw) -> Violation | None:
    if not is_running(raw) or condition(raw, "PodScheduled").get("status") == "True":
        return None
    return _about(raw, f"is on a node and says {condition(raw, 'PodScheduled')}")


def _of_volumes(checker: Checker, raw: Raw) -> Violation | None:
    """A pod is in the zone of its volume."""
    if not is_running(raw) or label(raw, KIND) != "volume":
        return None
    mounted = raw["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    bound = checker.claims.get(mounted, {}).get("spec", {}).get("volumeName", "")
    volume = checker.volumes.get(bound)
    if volume is None:
        return _about(raw, f"is on a node without the volume of {mounted}")
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    zones, zone = term["matchExpressions"][0]["values"], checker.zone(node_of(raw))
    return None if zone in zones else _about(raw, f"is in {zone} and its volume in {zones}")


def _of_waiting(checker: Checker, raw: Raw) -> Violation | None:
    if node_of(raw) or not uses(raw):
        return None
    said = condition(raw, "PodScheduled")
    if said.get("status") != "False" or not said.get("message"):
        return _about(raw, f"waits and does not say why: {said}")
    judge = _WRONG.get(label(raw, KIND))
    wrong = "" if judge is None else judge(checker, raw, said["message"])
    return _about(raw, f"{wrong}: {said['message']!r}") if wrong else None


def _wrong_of_plain(checker: Checker, raw: Raw, message: str) -> str:
    room = [name for name in checker.nodes if checker.free(name) >= cpu_of(raw)]
    if room:
        return f"waits though {' and '.join(sorted(room))} have room"
    return "" if "Insufficient cpu" in message else "does not say what is insufficient"


def _wrong_of_huge(checker: Checker, raw: Raw, message: str) -> str:
    return "" if "Insufficient cpu" in message else "does not say what is insufficient"


def _wrong_of_incomplete(checker: Checker, raw: Raw, message: str) -> str:
    group = group_of(raw)
    there = sum(group_of(each) == group and uses(each) for each in checker.pods.values())
    wanted = f"{there} of {checker.groups[group]} exist"
    return "" if wanted in message else f"does not say that {wanted}"


_WRONG = {
    "plain": _wrong_of_plain,
    "urgent": _wrong_of_plain,
    "huge": _wrong_of_huge,
    "incomplete": _wrong_of_incomplete,
}


def _about(raw: Raw, text: str) -> Violation:
    return Violation(f"{name_of(raw)} {text}", (raw["metadata"]["uid"],))
