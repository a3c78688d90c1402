"""A run in words: figures, violations, the fault list, the story of the pods involved."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.checker import Change, Checker, Violation, condition, name_of, node_of
from tests.chaos.faults import Fault
from tests.chaos.line import Write

MOST_STORIES = 6


@dataclass
class Report:
    """What a run has come to; `began` is the moment that times are counted from."""

    seed: int
    began: float
    checker: Checker
    writes: list[Write]
    faults: list[str] = field(default_factory=list)
    planned: list[Fault] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    settle_seconds: float = 0.0
    rejected: int = 0
    home: str = ""

    def figures(self) -> str:
        """One line."""
        checker = self.checker
        return (
            f"seed {self.seed}: {len(self.violations)} violations; {checker.binds} binds of "
            f"{len(checker.story)} pods, {len(checker.evicted)} evicted, {self.rejected} rejected, "
            f"{self.did['volumes']} volumes made, {self._rival_writes} writes of a rival, "
            f"{len(self.faults)} faults, {self.did['lost bind reply']} lost bind replies, "
            f"quiet after {self.settle_seconds:.1f} s"
        )

    @property
    def _rival_writes(self) -> int:
        return sum(count for what, count in self.did.items() if what.startswith("rival"))

    def text(self) -> str:
        """Figures alone where all is well; else everything that helps to find out why."""
        if not self.violations:
            return self.figures()
        wrong = [f"  {violation.text}" for violation in self.violations]
        return "\n".join(
            [
                *(self.figures(), f"logs: {self.home}", "violations:", *wrong),
                *("faults:", *(f"  {each}" for each in self.faults)),
                *self._stories(),
            ]
        )

    def _stories(self) -> Iterable[str]:
        uids = dict.fromkeys(uid for violation in self.violations for uid in violation.pods)
        for uid in list(uids)[:MOST_STORIES]:
            changes = self.checker.story.get(uid, [])
            if changes:
                name = name_of(changes[-1].raw)
                yield f"story of {name}:"
                yield from (f"  {line}" for line in self._story(name, changes))

    def _story(self, name: str, changes: list[Change]) -> list[str]:
        told = [(change.at, f"watch   {_describe(change)}") for change in changes]
        path = f"/pods/{name}"
        for at, replica, what, outcome in self.writes:
            if what.endswith(path) or f"{path}/" in what:
                told.append((at, f"{replica:7} {what}: {outcome}"))
        return [f"{at - self.began:6.2f} s  {text}" for at, text in sorted(told)]


def _describe(change: Change) -> str:
    raw, said = change.raw, condition(change.raw, "PodScheduled")
    parts = [change.kind]
    if node := node_of(raw):
        parts.append(f"on {node}")
    if "deletionTimestamp" in raw["metadata"]:
        parts.append("terminating")
    if condition(raw, "DisruptionTarget"):
        parts.append("preempted")
    if nominated := raw.get("status", {}).get("nominatedNodeName"):
        parts.append(f"nominated to {nominated}")
    parts.append(raw.get("status", {}).get("phase", ""))
    parts.append(f"PodScheduled={said.get('status', 'unset')} {said.get('message', '')}".strip())
    return ", ".join(part for part in parts if part)
