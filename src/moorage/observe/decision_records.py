"""Decision records: a compact record of every attempt, in bounded memory, by pod and in order.

A record is a few dozen bytes of msgpack; texts that many share (messages, names of profiles and
plugins) are kept once. The oldest record is overwritten first. Of each pod only the last few
attempts are kept, so that a pod that fails over and over does not displace all others.
"""

import asyncio
from array import array
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.observe.eviction_records import EvictionRecords
from moorage.observe.records import Attempt, Bound, Evicted, Result

Parts = tuple[tuple[str, int], ...]

CAPACITY: Final = 20_000
PER_POD: Final = 5
TEXTS: Final = 4096
"""The most shared texts; further ones are kept in the record itself."""
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_RESULTS: Final = tuple(Result)
_CODES: Final = {result: code for code, result in enumerate(_RESULTS)}
_FREE: Final = b""
NODES: Final = 65_536
_BIND: Final = "Bind"


class DecisionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt, as `/debug/decisions` shows it; `number` counts all records ever made."""

    number: int
    attempt: str
    pod: str
    profile: str
    result: str
    time: float
    ms: float
    attempts: int
    node: str = ""
    score: int = 0
    scores: dict[str, int] = {}
    """Each plugin's weighted score for the chosen node."""
    runners_up: dict[str, dict[str, int]] = {}
    """The next best nodes with their scores; at full speed empty for most attempts."""
    steps: dict[str, float] = {}
    """Milliseconds by extension point, binding included."""
    bound_ms: float = 0.0
    """Milliseconds from the beginning of the attempt until the API server accepted the binding."""
    feasible: int = 0
    evaluated: int = 0
    message: str = ""
    """Why no node was chosen: each reason with its number of nodes."""
    nominated: str = ""
    victims: int = 0
    generation: int = 0
    trace: str = ""


class Outlines(NamedTuple):
    """The outline of some records as columns, oldest first.

    In virtual time, in which an attempt takes no time, `ms` is the real time of its steps.
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    ms: NDArray[np.float64]
    placed: NDArray[np.bool_]


class Texts:
    """Texts that many records share, by number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.numbers: dict[Any, int] = {}
        self._texts: list[Any] = []

    def number(self, text: Any) -> Any:
        """The text's number; the text itself if the limit is reached."""
        found = self.numbers.get(text)
        if found is not None:
            return found
        if len(self._texts) >= self._most:
            return text
        self.numbers[text] = len(self._texts)
        self._texts.append(text)
        return len(self._texts) - 1

    def text(self, number: Any) -> Any:
        return self._texts[number] if isinstance(number, int) else number


class DecisionRecords:
    """An observer that keeps the last attempts encoded; reading decodes them.

    A record has only the number of victims; `evictions` has the victims themselves.
    """

    def __init__(self, capacity: int = CAPACITY, per_pod: int = PER_POD) -> None:
        self._capacity = capacity
        self._per_pod = per_pod
        self._slots: list[bytes] = []
        self._owners = array("q")
        self._numbers = array("q")
        """The number of the record in each slot."""
        self._bound = array("q")
        self._bind = array("q")
        """Microseconds of Bind by slot; 0 if there is none yet. `_bound`: of the whole attempt."""
        self._times = array("d")
        self._took = array("q")
        """Microseconds of the attempt; the bitwise complement, which is negative, if it failed."""
        self._nodes = Texts(NODES)
        self._by_pod: dict[int, int | tuple[int, ...]] = {}
        self._texts = Texts(TEXTS)
        self._next = 0
        self.count = 0
        self._told: asyncio.Event | None = None
        self.evictions = EvictionRecords()

    def attempted(self, attempt: Attempt) -> None:
        """Keep one attempt."""
        self.count = count = self.count + 1
        pod, node, steps = attempt.pod, attempt.node, attempt.steps
        slot = self._slot(hash(pod))
        parts = [each for part in attempt.scores for each in part]
        known, further = self._texts.numbers.get, self._texts.number
        profile, names = attempt.profile, tuple(parts[::2])
        points = tuple([step[0] for step in steps])
        took = [int(step[3] * 1e6) for step in steps]
        micros = int(attempt.seconds * 1e6 + 0.5)
        where, result = self._nodes.numbers.get(node), attempt.result
        self._slots[slot] = _ENCODE(
            (
                count,
                attempt.id,
                pod,
                known(profile) or further(profile),
                0 if result is Result.SCHEDULED else _CODES[result],
                attempt.time,
                micros,
                attempt.attempts,
                (where or self._nodes.number(node)) if node else "",
                attempt.score,
                known(names) or further(names),
                parts[1::2],
                attempt.feasible,
                attempt.evaluated,
                further(attempt.message) if attempt.message else "",
                attempt.nominated,
                attempt.victims,
                attempt.generation,
                attempt.trace,
                known(points) or further(points),
                took,
                self._others(attempt) if attempt.runners_up else (),
            )
        )
        self._numbers[slot] = count
        self._times[slot] = attempt.time
        micros = micros or sum(took)
        self._took[slot] = micros if result is Result.SCHEDULED else ~micros
        if self._told is not None:
            self._told.set()

    def _others(self, attempt: Attempt) -> list[tuple[Any, list[int]]]:
        return [
            (self._nodes.number(name), _differing(attempt.scores, theirs))
            for name, theirs in attempt.runners_up
        ]

    def bound(self, bound: Bound) -> None:
        """Add to a pod's last attempt that it was bound."""
        held = self._by_pod.get(hash(bound.pod))
        if held is None:
            return
        slot = held[-1] if isinstance(held, tuple) else held
        self._bound[slot] = int(bound.seconds * 1e6 + 0.5)
        for step in reversed(bound.steps):
            if step[0] == _BIND:
                self._bind[slot] = int(step[3] * 1e6)
                break

    def evicted(self, evicted: Evicted) -> None:
        """Keep one eviction."""
        self.evictions.evicted(evicted)

    def _slot(self, owner: int) -> int:
        """Where the next record of a pod goes: the oldest of its own, if it has its share."""
        held = self._by_pod.get(owner)
        if type(held) is tuple and len(held) >= self._per_pod:
            self._by_pod[owner] = (*held[1:], held[0])
            self._bound[held[0]] = self._bind[held[0]] = 0
            return held[0]
        slot = self._next
        self._next = slot + 1 if slot + 1 < self._capacity else 0
        if slot == len(self._slots):
            self._grow(owner)
        else:
            self._forget(self._owners[slot], slot)
            self._owners[slot] = owner
            self._bound[slot] = self._bind[slot] = 0
            held = self._by_pod.get(owner) if held is not None else None
        if held is None:
            self._by_pod[owner] = slot
        else:
            self._by_pod[owner] = (*held, slot) if isinstance(held, tuple) else (held, slot)
        return slot

    def _grow(self, owner: int) -> None:
        self._slots.append(_FREE)
        self._owners.append(owner)
        for column in (self._numbers, self._bound, self._bind, self._took):
            column.append(0)
        self._times.append(0.0)

    def _forget(self, owner: int, slot: int) -> None:
        held = self._by_pod.get(owner)
        if isinstance(held, tuple) and len(held) > 1:
            kept = tuple(each for each in held if each != slot)
            self._by_pod[owner] = kept if len(kept) > 1 else kept[0]
        else:
            self._by_pod.pop(owner, None)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def bytes_used(self) -> int:
        """About how much memory the records and their index take."""
        index = sum(
            72 + 32 + (len(h) * 40 if isinstance(h, tuple) else 32) for h in self._by_pod.values()
        )
        return sum(len(each) + 33 + 7 * 8 for each in self._slots) + index

    def of_pod(self, pod: str) -> list[DecisionRecord]:
        """The last attempts at a pod, oldest first."""
        held = self._by_pod.get(hash(pod))
        slots = held if isinstance(held, tuple) else () if held is None else (held,)
        found = [self._decoded(slot) for slot in slots]
        return sorted((each for each in found if each.pod == pod), key=lambda each: each.number)

    def since(self, number: int) -> Iterator[DecisionRecord]:
        """Every record after that number, oldest first."""
        numbers = np.array(self._numbers)
        yield from self._unchanged(numbers, _in_order(numbers, numbers > number))

    def newest(self, after: int, most: int) -> Iterator[DecisionRecord]:
        """Of the last `most` records those after a number, oldest first."""
        yield from self.since(max(after, self.count - most))

    def outlines(self, number: int) -> Outlines:
        """The time, duration and outcome of every record after that number."""
        numbers = np.array(self._numbers)
        slots = _in_order(numbers, numbers > number)
        took = np.array(self._took)[slots]
        placed = took >= 0
        ms = np.where(placed, took, ~took) / 1000
        return Outlines(numbers[slots], np.array(self._times)[slots], ms, placed)

    def before(self, number: int) -> Iterator[DecisionRecord]:
        """Every record before that number, newest first."""
        numbers = np.array(self._numbers)
        yield from self._unchanged(numbers, _in_order(numbers, numbers < number)[::-1])

    def _unchanged(
        self, numbers: NDArray[np.int64], slots: NDArray[np.int64]
    ) -> Iterator[DecisionRecord]:
        """The records of some slots, except those that were overwritten meanwhile."""
        for slot in slots.tolist():
            if self._numbers[slot] == numbers[slot]:
                yield self._decoded(slot)

    async def more(self) -> None:
        """Return when a new record is kept."""
        if self._told is None:
            self._told = asyncio.Event()
        self._told.clear()
        await self._told.wait()

    def _decoded(self, slot: int) -> DecisionRecord:
        (
            number, attempt, pod, profile, result, time, micros, attempts, node, score, names,
            values, feasible, evaluated, message, nominated, victims, generation, trace,
            points, took, others,
        ) = msgspec.msgpack.decode(self._slots[slot])  # fmt: skip
        text = self._texts.text
        own = dict(zip(text(names), values, strict=True))
        steps = {name: each / 1000 for name, each in zip(text(points), took, strict=True)}
        if self._bind[slot]:
            steps[_BIND] = self._bind[slot] / 1000
        return DecisionRecord(
            number, attempt, pod, text(profile), _RESULTS[result].value, time, micros / 1000,
            attempts, self._nodes.text(node), score, own,
            {self._nodes.text(name): _with(own, differs) for name, differs in others},
            steps, self._bound[slot] / 1000,
            feasible, evaluated, text(message), nominated, victims, generation, trace,
        )  # fmt: skip


def _in_order(numbers: NDArray[np.int64], taken: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The chosen slots, sorted by their record numbers."""
    slots = np.flatnonzero(taken)
    return slots[np.argsort(numbers[slots], kind="stable")]


def _differing(own: Parts, theirs: Parts) -> list[int]:
    """Flat (plugin's position, score) pairs, where a node's score differs from the chosen's."""
    found: list[int] = []
    for place, (mine, other) in enumerate(zip(own, theirs, strict=True)):
        if mine != other:
            found += (place, other[1])
    return found


def _with(own: dict[str, int], differs: list[int]) -> dict[str, int]:
    names, found = list(own), dict(own)
    for place, points in zip(differs[::2], differs[1::2], strict=True):
        found[names[place]] = points
    return found
