"""The transaction that places a gang, and the arithmetic about it."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.cycle import promised_rows
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import unschedulable
from moorage.gang import foresight, topology, transaction, victim_search
from moorage.gang.directory import Directory
from moorage.gang.foresight import Need
from moorage.gang.group import Group
from moorage.gang.topology import Packing
from moorage.gang.transaction import Misfit, Refused, Whole
from moorage.gang.victim_search import Unit
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

CPU = 0


def cluster(*objects: NodeBuilder | PodBuilder) -> Cache:
    return Cluster(*objects).cache


def queued(cache: Cache, name: str, cpu: str = "1", priority: int = 0) -> QueuedPod:
    made = pod(name).requesting(cpu=cpu).prioritised(priority)
    return QueuedPod(cache.info(made.build()), 0.0)


class Ledger:
    """Places pods while there are places left, and keeps a story."""

    def __init__(self, places: int, refuses: tuple[str, ...] = ()) -> None:
        self.cache = cluster(node("a"))
        self.places = places
        self.refuses = refuses
        self.placed: list[str] = []
        self.explained: list[tuple[str, list[str]]] = []

    def attempt(self, queued: QueuedPod) -> str | Refused:
        name = queued.info.pod.name
        if name == "raises":
            raise RuntimeError("a plugin broke")
        if len(self.placed) == self.places or name in self.refuses:
            cycle = Cluster(node("a")).cycle(queued.info.pod)
            return Refused(queued, cycle, unschedulable("no room").by("Fit"))
        self.placed.append(name)
        return name

    def undo(self, name: str) -> None:
        assert self.placed[-1] == name, "undone in another order than reverse"
        self.placed.pop()

    def explain(self, blocker: Refused, missing: Sequence[QueuedPod]) -> str:
        names = [queued.info.pod.name for queued in missing]
        self.explained.append((blocker.queued.info.pod.name, names))
        return "because"

    def place(self, names: str, needed: int) -> Whole[str] | Misfit:
        members = [queued(self.cache, name) for name in names.split()]
        return transaction.place_together(members, needed, self.attempt, self.undo, self.explain)


class TestPlace:
    def test_all_that_are_needed_are_in_place(self) -> None:
        ledger = Ledger(places=3)

        outcome = ledger.place("a b c", needed=3)

        assert isinstance(outcome, Whole)
        assert outcome.placed == ledger.placed == ["a", "b", "c"]

    def test_or_none_is(self) -> None:
        ledger = Ledger(places=2)

        outcome = ledger.place("a b c d", needed=4)

        assert isinstance(outcome, Misfit)
        assert ledger.placed == []
        assert (outcome.fitting, outcome.needed, outcome.explanation) == (2, 4, "because")

    def test_it_ends_as_soon_as_it_is_hopeless(self) -> None:
        ledger = Ledger(places=9, refuses=("b",))

        ledger.place("a b c d", needed=4)

        assert ledger.explained == [("b", ["b", "c", "d"])]

    def test_pods_that_are_not_needed_may_be_refused(self) -> None:
        ledger = Ledger(places=9, refuses=("b",))

        outcome = ledger.place("a b c", needed=2)

        assert isinstance(outcome, Whole)
        assert outcome.placed == ["a", "c"]
        assert [refused.queued.info.pod.name for refused in outcome.refused] == ["b"]
        assert outcome.refused[0].plugins == {"Fit"}

    def test_what_breaks_on_the_way_undoes_everything(self) -> None:
        ledger = Ledger(places=9)

        with pytest.raises(RuntimeError):
            ledger.place("a b raises c", needed=4)

        assert ledger.placed == []

    def left_over(self, ledger: Ledger, *names: str) -> Whole[str]:
        """Two pods are in place, and these were refused and not needed: they are tried again."""
        whole = ledger.place("a b", needed=2)
        assert isinstance(whole, Whole)
        cycle, why = Cluster(node("a")).cycle(pod("x")), unschedulable("no room").by("Fit")
        refused = [Refused(queued(ledger.cache, name), cycle, why) for name in names]
        again = whole._replace(refused=refused)
        return transaction.place_left_over(again, ledger.attempt, ledger.undo)

    def test_pods_that_were_left_out_may_find_room_in_another_way(self) -> None:
        ledger = Ledger(places=9, refuses=("d",))

        outcome = self.left_over(ledger, "c", "d", "e")

        assert outcome.placed == ledger.placed == ["a", "b", "c", "e"]
        assert [refused.queued.info.pod.name for refused in outcome.refused] == ["d"]

    def test_what_breaks_at_pods_that_were_left_out_undoes_everything(self) -> None:
        ledger = Ledger(places=9)

        with pytest.raises(RuntimeError):
            self.left_over(ledger, "c", "raises", "d")

        assert ledger.placed == []

    def test_too_few_members_are_a_misfit_without_a_blocker(self) -> None:
        outcome = Ledger(places=9).place("a b", needed=3)

        assert isinstance(outcome, Misfit)
        assert outcome.blocker is None


def test_large_pods_are_tried_before_small_ones_of_the_same_priority() -> None:
    cache = cluster(node("a"))
    members = [
        queued(cache, "small", "1"),
        queued(cache, "large", "3"),
        queued(cache, "important", "1", priority=5),
    ]

    order = [member.info.pod.name for member in transaction.in_order(members, cache.table)]

    assert order == ["important", "large", "small"]


def everywhere(cache: Cache) -> NDArray[np.bool_]:
    return cache.table.alive[: cache.table.rows].copy()


def never(info: PodInfo) -> float:
    return math.inf


class TestForesight:
    def test_room_that_is_free_is_there_now(self) -> None:
        cache = cluster(node("a").offering(cpu="2"), node("b").offering(cpu="2"))
        need = Need(3, {CPU: 1000}, everywhere(cache))

        found = foresight.foresee(cache.table, [need], never, 50.0, [])

        assert found is not None
        assert sum(room.pods for room in found.rooms.values()) == 3
        assert found.start == 50.0

    def test_pods_that_end_first_make_room_first(self) -> None:
        cache = cluster(
            node("a").offering(cpu="1"),
            node("b").offering(cpu="1"),
            pod("late").requesting(cpu="1").on("a"),
            pod("soon").requesting(cpu="1").on("b"),
        )
        ends = {"default/late": 500.0, "default/soon": 100.0}
        need = Need(1, {CPU: 1000}, everywhere(cache))

        found = foresight.foresee(cache.table, [need], lambda i: ends[i.uid], 50.0, [])

        assert found is not None
        assert set(found.rooms) == {"b"}
        assert found.start == 100.0

    def test_pods_that_do_not_say_are_thought_away_last_and_nobody_knows_when(self) -> None:
        cache = cluster(node("a").offering(cpu="1"), pod("p").requesting(cpu="1").on("a"))
        need = Need(1, {CPU: 1000}, everywhere(cache))

        found = foresight.foresee(cache.table, [need], never, 50.0, [])

        assert found is not None
        assert found.start == foresight.UNKNOWN

    def test_what_does_not_fit_on_an_empty_cluster_never_will(self) -> None:
        cache = cluster(node("a").offering(cpu="4"))
        fits, does_not = (Need(2, {CPU: cpu}, everywhere(cache)) for cpu in (2000, 3000))

        assert foresight.foresee(cache.table, [fits], never, 0.0, []) is not None
        assert foresight.foresee(cache.table, [does_not], never, 0.0, []) is None

    def test_two_classes_do_not_count_on_the_same_room(self) -> None:
        cache = cluster(node("a").offering(cpu="3"))
        needs = [Need(1, {CPU: 2000}, everywhere(cache)), Need(1, {CPU: 2000}, everywhere(cache))]

        assert foresight.foresee(cache.table, needs[:1], never, 0.0, []) is not None
        assert foresight.foresee(cache.table, needs, never, 0.0, []) is None

    def test_rows_that_rules_forbid_do_not_count(self) -> None:
        cache = cluster(node("a").offering(cpu="4"))
        allowed = Need(1, {CPU: 1000}, everywhere(cache))
        forbidden = Need(1, {CPU: 1000}, np.zeros(cache.table.rows, dtype=bool))

        assert foresight.foresee(cache.table, [allowed], never, 0.0, []) is not None
        assert foresight.foresee(cache.table, [forbidden], never, 0.0, []) is None

    @pytest.mark.parametrize(("pods", "leave"), [(0, 0), (1, 1), (2, 2), (3, 3)])
    def test_how_many_have_to_leave_at_least(self, pods: int, leave: int) -> None:
        running = [pod(f"p{i}").requesting(cpu="1").on("a") for i in range(3)]
        cache = cluster(node("a").offering(cpu="3"), *running)
        row = cache.table.row_of["a"]
        leaving = [[(row, info)] for _, info in cache.pods()]
        need = Need(pods, {CPU: 1000}, everywhere(cache))

        assert foresight.walk(cache.table, need, leaving) == leave

    def test_needs_of_the_same_on_the_same_nodes_are_one(self) -> None:
        cache = cluster(node("a").offering(cpu="3"), node("b").offering(cpu="3"))
        rows, first = everywhere(cache), everywhere(cache)
        first[1:] = False
        needs = [Need(n, {CPU: 1000}, on) for n, on in ((1, rows), (2, rows.copy()), (4, first))]

        found = foresight.joined([*needs, Need(8, {CPU: 500}, rows)])

        assert [need.pods for need in found] == [3, 4, 8]

    def test_what_was_promised_to_others_is_no_room(self) -> None:
        running = [pod(f"p{i}").requesting(cpu="1").on("a") for i in range(3)]
        cache = cluster(node("a").offering(cpu="3"), *running)
        cache.nominations.put(cache.info(pod("first").requesting(cpu="1").build()), "a")
        own = cache.info(pod("own").requesting(cpu="1").build())
        cache.nominations.put(own, "a")
        leaving = [[(cache.table.row_of["a"], info)] for _, info in cache.pods()]
        need = Need(1, {CPU: 1000}, everywhere(cache))

        promised = promised_rows.promised_besides(cache, 0, {own.uid})

        assert foresight.walk(cache.table, need, leaving, promised) == 2
        assert promised_rows.promised_besides(cache, 1, ()) is None

    def test_more_than_there_are_where_that_does_not_help(self) -> None:
        cache = cluster(node("a").offering(cpu="1"))
        need = Need(2, {CPU: 1000}, everywhere(cache))

        assert foresight.walk(cache.table, need, []) == 1


class TestDomains:
    def zones(self) -> Cache:
        return cluster(
            node("a1").in_zone("a").offering(cpu="1"),
            node("a2").in_zone("a").offering(cpu="1"),
            node("b1").in_zone("b").offering(cpu="4"),
            node("bare").offering(cpu="9"),
        )

    def choose(self, packing: Packing, needed: int, occupied: tuple[str, ...] = ()) -> list[str]:
        cache = self.zones()
        members = [cache.info(pod("p").requesting(cpu="1").build())]
        found = topology.choose_domains(cache.table, packing, members, needed, occupied)
        names = [domain.name.removeprefix("topology.kubernetes.io/") for domain in found.domains]
        return [*names, "anywhere"] if found.anywhere else names

    def test_the_tightest_comes_first(self) -> None:
        required = Packing(required="topology.kubernetes.io/zone")

        assert self.choose(required, 2) == ["zone=a", "zone=b"]
        assert self.choose(required, 3) == ["zone=b"]

    def test_a_preference_ends_anywhere(self) -> None:
        preferred = Packing(preferred="topology.kubernetes.io/zone")

        assert self.choose(preferred, 3) == ["zone=b", "anywhere"]

    def test_without_a_wish_there_is_nothing_to_try_but_everywhere(self) -> None:
        assert self.choose(Packing(), 3) == ["anywhere"]

    def test_where_pods_run_already_the_others_must_join(self) -> None:
        required = Packing(required="topology.kubernetes.io/zone")

        assert self.choose(required, 1, occupied=("b1",)) == ["zone=b"]

    def test_a_label_that_no_node_has_has_no_domains(self) -> None:
        assert self.choose(Packing(required="example.com/rack"), 1) == []


class Plan:
    """A gang that is on some rows, and fits beside anyone."""

    def still_fits(self, row: int) -> bool:
        return True


class TestVictims:
    def test_the_least_important_stand_first_and_groups_behind_pods(self) -> None:
        cache = cluster(
            node("a").offering(cpu="9"),
            pod("important").requesting(cpu="1").prioritised(5).on("a"),
            pod("plain").requesting(cpu="1").on("a"),
            pod("equal").requesting(cpu="1").prioritised(9).on("a"),
        )

        units = victim_search.line_up(cache, Directory(), Group("d/g"), 9, Budgets(()), None)

        assert [unit.pods[0].pod.name for unit in units] == ["plain", "important"]

    def test_as_few_leave_as_are_needed_the_least_important_of_them(self) -> None:
        """The gang needs two of five cores, on a node where nothing else stands in its way."""
        running = [pod(f"p{i}").requesting(cpu="1").prioritised(i).on("a") for i in range(5)]
        cache = cluster(node("a").offering(cpu="5"), *running)
        units = [
            Unit((info,)) for _, info in sorted(cache.pods(), key=lambda pair: pair[1].priority)
        ]

        gang = [cache.info(pod(f"gang-{i}").requesting(cpu="1").build()) for i in range(2)]

        def place() -> Plan | None:
            if cache.table.requested[CPU, 0] > 3000:
                return None
            for info in gang:
                cache.place_on(0, info)
            return Plan()

        found = victim_search.search(cache, units, 0, place)

        assert found is not None
        assert [victim.name for victim in found[0].pods] == ["p1", "p0"]

    def test_what_left_for_nothing_comes_back(self) -> None:
        """Two leave from the front, but only the second was in the way."""
        cache = cluster(
            node("a").offering(cpu="1"),
            node("b").offering(cpu="4"),
            pod("elsewhere").requesting(cpu="1").on("a"),
            pod("there").requesting(cpu="4").on("b"),
        )
        row = cache.table.row_of["b"]
        units = [Unit((info,)) for _, info in cache.pods()]
        gang = cache.info(pod("gang").requesting(cpu="4").build())

        def place() -> Plan | None:
            if cache.table.requested[CPU, row]:
                return None
            cache.place_on(row, gang)
            return Plan()

        found = victim_search.search(cache, units, 0, place)

        assert found is not None
        assert [victim.name for victim in found[0].pods] == ["there"]
        assert cache.node_of("default/elsewhere") == "a"
        assert cache.node_of("default/there") == "b"
        assert cache.node_of(gang.uid) is None

    def test_nobody_leaves_where_that_does_not_help(self) -> None:
        cache = cluster(node("a").offering(cpu="1"), pod("p").requesting(cpu="1").on("a"))
        units = [Unit((info,)) for _, info in cache.pods()]
        gang = cache.info(pod("gang").requesting(cpu="1").build())

        def place() -> Plan | None:
            cache.place_on(0, gang)
            return None if cache.table.requested[CPU, 0] > 1000 else Plan()

        assert victim_search.search(cache, units, 1, place) is not None
        assert victim_search.search(cache, units, 0, lambda: None) is None
        assert victim_search.search(cache, units, 2, Plan) is None
