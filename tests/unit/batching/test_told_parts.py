"""A running scheduler decides quickly what it would decide in full, and tells who gave what."""

import random
from collections.abc import Callable

import pytest

from moorage.api.node import Node
from moorage.batching.quick_decisions import FULL_FIRST, QuickDecisions
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import NO_TIMER, Cycle, NoTimer, Timer
from moorage.framework.points import Score
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.testing.small_cluster import profile_of

SIZES = (("100m", "200Mi"), ("250m", "64Mi"), ("1", "2Gi"))


class Sampled(NoTimer):
    """Somebody times plugins one by one."""

    sampled = True


class World:
    """A cluster that is decided about quickly, and how often that was not so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, profile: Profile | None = None) -> None:
        self.quick = QuickDecisions(lambda: 0.0, tells_parts=True)
        self.profile = profile or profile_of([], False, NO_LIMITS)
        self.in_full = 0
        self._run = run = attempt.run

        def counted(profile: Profile, cycle: Cycle) -> object:
            self.in_full += 1
            return run(profile, cycle)

        monkeypatch.setattr(attempt, "run", counted)

    def add(self, *nodes: NodeBuilder) -> None:
        for each in nodes:
            self.quick.cache.put_node(each.build())

    def decide(self, asked: PodBuilder, dice: int = 0, timer: Timer = NO_TIMER) -> Decision:
        """Decide, compare with a decision in full by the same dice, and put the pod there."""
        info = self.quick.cache.info(asked.build())

        def cycle() -> Cycle:
            return Cycle(
                self.quick.cache,
                info,
                seed=dice,
                now=0.0,
                shared=self.profile.shared,
                timer=timer,
            )

        in_full = self._run(self.profile, cycle())
        quick = self.quick.decide(self.profile, cycle())
        assert isinstance(in_full, Decision)
        assert isinstance(quick, Decision)
        assert quick[:4] == in_full[:4]
        assert dict(quick.parts) == dict(in_full.parts)
        assert list(dict(quick.parts)) == list(dict(in_full.parts))
        assert sum(points for _, points in quick.parts) == quick.score or quick.feasible == 1
        self.quick.cache.assume(info, quick.node)
        return quick


def nodes(rng: random.Random, count: int) -> list[NodeBuilder]:
    made = []
    for number in range(count):
        offered = {"cpu": rng.choice(("4", "16")), "memory": rng.choice(("8Gi", "32Gi"))}
        each = node(f"n{number}").offering({**offered, "pods": "30"}).in_zone("ab"[number % 2])
        made.append(each.tainted("gpu") if rng.random() < 0.2 else each)
    return made


@pytest.mark.parametrize("seed", range(8))
def test_quick_decisions_are_those_in_full_with_all_parts(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    world = World(monkeypatch)
    world.add(*nodes(rng, rng.choice((20, 60))))
    for number in range(60):
        cpu, memory = rng.choice(SIZES)
        asked = pod(f"p{number}").requesting(cpu=cpu, memory=memory).labelled(number=str(number))
        world.decide(asked, number)

    assert world.in_full <= FULL_FIRST * len(SIZES), "the first of each, whatever their labels"


def like(number: int) -> PodBuilder:
    return pod(f"like-{number}").requesting(cpu="100m").labelled(number=str(number))


def test_a_node_that_changes_is_asked_about_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.add(node("a").offering(cpu="4", pods="30"), node("b").offering(cpu="4", pods="30"))
    for number in range(FULL_FIRST + 2):
        world.decide(like(number))
    before = world.in_full
    world.add(node("a").offering(cpu="4", pods="30").tainted("gone"))
    where = {world.decide(like(number)).node for number in range(10, 12 + FULL_FIRST)}

    assert before == FULL_FIRST
    assert where == {"b"}
    assert world.in_full == 2 * FULL_FIRST


def test_a_node_that_is_heard_of_again_as_it_was_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch)
    heartbeats = (node("a").offering(cpu="64", pods="99") for _ in range(20))
    world.add(node("b").offering(cpu="64", pods="99"))
    for number, heartbeat in enumerate(heartbeats):
        heartbeat.raw["metadata"]["resourceVersion"] = str(number)
        world.add(heartbeat)
        world.decide(like(number))

    assert world.in_full == FULL_FIRST


def test_who_has_a_say_about_others_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.add(*(node(name).offering(cpu="4", pods="30") for name in "abc"))
    for number in range(FULL_FIRST + 2):
        world.decide(like(number))
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.quick.cache.put_pod(pod("alone").with_spec(affinity=affinity).on("d").build())
    world.add(node("d").offering(cpu="64", pods="9").labelled({"kubernetes.io/hostname": "d"}))

    assert "d" not in {world.decide(like(number)).node for number in range(20, 30)}
    assert world.in_full == FULL_FIRST + 10


class Preferred(Score, frozen=True):
    def score(self, cycle: Cycle, pod: object, node: Node) -> int:
        return 7


@pytest.mark.parametrize(
    ("profile", "timer"),
    [
        pytest.param(lambda: None, Sampled(), id="somebody times plugins"),
        pytest.param(
            lambda: profile_of([Preferred()], False, NO_LIMITS), NO_TIMER, id="a plugin of theirs"
        ),
    ],
)
def test_who_wants_to_see_all_of_it_does(
    profile: Callable[[], Profile | None], timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, profile())
    world.add(*(node(name).offering(cpu="4", pods="30") for name in "abc"))
    for number in range(FULL_FIRST + 5):
        world.decide(like(number), timer=timer)

    assert world.in_full == FULL_FIRST + 5
