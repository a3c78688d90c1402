"""What extenders answered and feeds measured decides a replay, whatever they would say now."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app.built_in_plugins import built_in
from moorage.app.config_bundle import load_bundle
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_profiles
from moorage.bench import workload_kinds
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import (
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVictims,
)
from moorage.framework.plugin import give_handles
from moorage.framework.verdicts import SchedulingError
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.node_measurements import Usage
from moorage.recording.configuration import configured
from moorage.recording.entries import Attempt, Failed, Noted, Placed
from moorage.recording.journal import Journal
from moorage.recording.play import Player
from moorage.recording.recorder import Recorder
from moorage.recording.segments import Recording, SegmentWriter
from tests.unit.recording.mixed_cluster import DEFAULT

LOW_CPU = f"""{DEFAULT}
profiles:
- plugins: {{multiPoint: {{enabled: [{{name: LowCpu, weight: 5}}]}}}}
"""


class Fickle:
    """Says something else each time: another node alone, other points, an error now and then."""

    name, ignorable, filters, preempts, binds = "fickle", False, True, False, False

    def __init__(self) -> None:
        self.asked = 0

    def is_interested(self, pod: Pod) -> bool:
        return True

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        self.asked += 1
        if self.asked % 5 == 0:
            raise ExtenderError("fickle is out")
        kept = [node.name for node in nodes][self.asked % 3 :: 3]
        left = {node.name: "not today" for node in nodes if node.name not in kept}
        return ExtenderFilterResult(kept, left, {})

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, ExtenderVictims]:
        raise AssertionError("it does not preempt")

    async def bind(self, pod: Pod, node: str) -> None:
        raise AssertionError("it does not bind")


class OneExtender:
    """Every extender there is."""

    def __init__(self, one: Fickle) -> None:
        self._one = one

    def __iter__(self) -> Iterator[Extender]:
        return iter((self._one,))

    def __bool__(self) -> bool:
        return True

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, dict[str, int]]]:
        liked = nodes[self._one.asked % len(nodes)].name
        return [(self._one.name, {liked: 1000 * self._one.asked})]

    def skipped(self, extender: Extender, verb: str, error: Exception) -> None:
        raise AssertionError("it is not ignorable")


def test_an_extender_that_says_something_else_each_time(tmp_path: Path) -> None:
    one = Fickle()
    chosen = recorded(tmp_path, asking(one))
    asked = one.asked

    played = Player(tmp_path).play()

    assert played.divergence is None
    assert played.attempts == 20
    assert one.asked == asked, "nobody is asked in a replay"
    outcomes = [each.outcome for each in Recording(tmp_path).entries() if type(each) is Attempt]
    assert [each.node if isinstance(each, Placed) else "" for each in outcomes] == chosen
    assert sum(isinstance(each, Failed) for each in outcomes) == 4


def test_measurements_that_change_all_the_time(tmp_path: Path) -> None:
    chosen = recorded(tmp_path, measured, LOW_CPU)

    played = Player(tmp_path).play()

    assert played.divergence is None
    noted = [each for each in Recording(tmp_path).entries() if isinstance(each, Noted)]
    assert len(noted) == 10, "a measurement is told when it has changed"
    assert len(set(chosen)) > 3, "measurements decide"


@pytest.mark.parametrize("what", ["answers", "measurements"])
def test_they_decide(tmp_path: Path, what: str) -> None:
    asks = what == "answers"
    with_them = recorded(
        tmp_path / "with", asking(Fickle()) if asks else measured, "" if asks else LOW_CPU
    )

    assert with_them != recorded(tmp_path / "without", nothing, "" if asks else LOW_CPU)


def asking(one: Fickle) -> Callable[[Cycle, int], None]:
    extenders = OneExtender(one)

    def ask(cycle: Cycle, number: int) -> None:
        cycle.extenders = extenders

    return ask


def measured(cycle: Cycle, number: int) -> None:
    """Before every other attempt another node is said to be idle, and the rest busy."""
    store = node_measurements.usage_store(cycle.shared)
    for node in range(9) if number % 2 == 0 else ():
        used = 100.0 if node == number % 9 else 2000.0
        store.record(f"node-{node}", Usage(used, 1e9, cycle.now))


def nothing(cycle: Cycle, number: int) -> None:
    """Nobody is asked, nothing is measured."""


def recorded(folder: Path, prepare: Callable[[Cycle, int], None], text: str = "") -> list[str]:
    """Twenty pods on nine nodes, recorded; where each went."""
    known = built_in()
    bundle = load_bundle([ConfigText("scheduler.yaml", (text or DEFAULT).encode())], known)
    (profile,) = build_profiles(bundle.configuration, known).values()
    journal = Journal(SegmentWriter(folder), pytest.fail)
    recorder = Recorder(journal.write, lambda: 1000.0)
    recorder.configured(configured(bundle, known))
    profile.handles = give_handles(profile.plugins, recorder.cache, profile.shared)
    for node in workload_kinds.nodes("basic", 9):
        recorder.cache.put_node(node)
    chosen = list[str]()
    for number in range(20):
        info = recorder.cache.info(workload_kinds.pod("basic", number))
        now, shared = 1000.0 + number, profile.shared
        cycle = Cycle(recorder.cache, info, now=now, attempt=f"{now}", shared=shared)
        prepare(cycle, number)
        chosen.append(decided(recorder, profile, cycle))
        if chosen[-1]:
            recorder.cache.assume(info, chosen[-1])
    journal.close()
    return chosen


def decided(recorder: Recorder, profile: Profile, cycle: Cycle) -> str:
    try:
        found = recorder.decide(profile, cycle)
    except SchedulingError:
        return ""
    return found.node if isinstance(found, Decision) else ""
