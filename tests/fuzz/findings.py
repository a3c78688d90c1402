"""What came of inputs: taken, refused by name, or something that may never happen."""

import traceback
from collections import Counter
from typing import Any

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """A crash, a hang, a refusal that names nothing, or a state that contradicts itself."""

    kind: str
    place: str
    detail: str
    batch: int


class Findings(msgspec.Struct):
    """The sums of some batches, and the first finding of each place."""

    inputs: int = 0
    attempts: int = 0
    bound: int = 0
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    found: dict[str, Finding] = msgspec.field(default_factory=dict)
    times: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, kind: str, error: BaseException | str, batch: int) -> None:
        place = place_of(error) if isinstance(error, BaseException) else ""
        detail = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        key = f"{kind} {place or detail[:80]}"
        self.found.setdefault(key, Finding(kind, place, detail[:600], batch))
        self.times[key] += 1

    def merge(self, other: "Findings") -> None:
        self.inputs += other.inputs
        self.attempts += other.attempts
        self.bound += other.bound
        self.refused.update(other.refused)
        self.times.update(other.times)
        for key, finding in other.found.items():
            self.found.setdefault(key, finding)

    def lines(self) -> list[str]:
        """The findings, most frequent first."""
        return [
            f"{self.times[key]:>6} x {each.kind} at {each.place}, batch {each.batch}: {each.detail}"
            for key, each in sorted(self.found.items(), key=lambda item: -self.times[item[0]])
        ]


def place_of(error: BaseException) -> str:
    """The innermost lines of the product in the traceback."""
    cause: Any = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    frames = [f for f in traceback.extract_tb(cause.__traceback__) if "/moorage/" in f.filename]
    return " < ".join(f"{f.filename.rpartition('/moorage/')[2]}:{f.lineno}" for f in frames[:-4:-1])


def first(error: BaseException) -> BaseException:
    """The first error of a group of errors, of groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
