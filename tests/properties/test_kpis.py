"""KPIs beside a naive count: the state of every second is kept, and summed up in the end."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.kpi.meter import Meter, PodFacts
from moorage.kpi.pod_times import PodKind
from moorage.kpi.settings import KpiSettings, TypicalPod
from moorage.kpi.summary import summarize
from tests.support.profiles import at_least

TYPICAL = (TypicalPod({"cpu": 2.0}, 3.0), TypicalPod({"cpu": 1.0, "memory": 4.0}))
RESOURCES = ("cpu", "memory")
HOUR = 3600.0


class NaiveNode(msgspec.Struct):
    offered: dict[str, float]
    price: float


class NaivePod(msgspec.Struct):
    tenant: str
    requests: dict[str, float]
    gang: str
    node: str = ""


class State(msgspec.Struct):
    """What is there at one moment."""

    nodes: dict[str, NaiveNode]
    pods: dict[str, NaivePod]

    def on(self, node: str) -> list[NaivePod]:
        return [pod for pod in self.pods.values() if pod.node == node]

    def asked(self, name: str, pods: Sequence[NaivePod]) -> float:
        return sum(pod.requests.get(name, 0.0) for pod in pods)

    def capacity(self, name: str) -> float:
        return sum(node.offered[name] for node in self.nodes.values())

    @property
    def running(self) -> list[NaivePod]:
        return [pod for pod in self.pods.values() if pod.node]

    @property
    def in_use(self) -> list[str]:
        return [name for name in self.nodes if self.on(name)]

    def deviation(self, name: str) -> float:
        parts = [
            self.asked(name, self.on(each)) / node.offered[name]
            for each, node in self.nodes.items()
        ]
        mean = sum(parts) / len(parts)
        return math.sqrt(sum((part - mean) ** 2 for part in parts) / len(parts))

    def dominant_shares(self) -> dict[str, float]:
        """Of each tenant that has pods."""
        mine = {
            pod.tenant: [p for p in self.running if p.tenant == pod.tenant]
            for pod in self.pods.values()
        }
        return {
            tenant: max(
                self.asked(name, pods) / self.capacity(name) if self.capacity(name) else 0.0
                for name in RESOURCES
            )
            for tenant, pods in mine.items()
        }

    def payers(self, node: str) -> dict[str, float]:
        """The share of a node's price that each tenant on it pays."""
        weights: dict[str, float] = {}
        for pod in self.on(node):
            parts = [
                amount / self.nodes[node].offered[name] for name, amount in pod.requests.items()
            ]
            weights[pod.tenant] = weights.get(pod.tenant, 0.0) + max(parts)
        return {tenant: weight / sum(weights.values()) for tenant, weight in weights.items()}

    def fragmentation(self) -> dict[str, float]:
        """The share of what is idle that typical pods which ask for it cannot use."""
        idle = {
            node: {name: each.offered[name] - self.asked(name, self.on(node)) for name in RESOURCES}
            for node, each in self.nodes.items()
        }
        found = {}
        for name in RESOURCES:
            total = sum(left[name] for left in idle.values())
            asking = [typical for typical in TYPICAL if name in typical.requests]
            lost = sum(
                left[name] * typical.weight
                for left in idle.values()
                for typical in asking
                if any(left[each] < amount for each, amount in typical.requests.items())
            )
            if total > 0:
                found[name] = lost / total / sum(typical.weight for typical in asking)
        return found


def jain(shares: Mapping[str, float]) -> float | None:
    """None where nobody holds anything."""
    squares = sum(share**2 for share in shares.values())
    return sum(shares.values()) ** 2 / len(shares) / squares if squares else None


class Run:
    """A run of a meter, and the states that it went through, each with how long it lasted."""

    def __init__(self) -> None:
        self.meter = Meter(KpiSettings(typical=TYPICAL), 0.0)
        self.now = 0.0
        self.state = State({}, {})
        self.states: list[tuple[float, State]] = []
        self.gangs: list[bool] = []
        """Of each gang that ever was, whether it was whole at some time."""
        self.names: dict[str, int] = {}
        self.seen: set[str] = set()
        self._ids = itertools.count()

    def wait(self, hours: float) -> None:
        copy = msgspec.convert(msgspec.to_builtins(self.state), State)
        self.states.append((hours * HOUR, copy))
        self.now += hours * HOUR

    def changed(self) -> None:
        self.wait(0.0)
        for gang, number in self.names.items():
            if sum(pod.gang == gang for pod in self.state.running) >= 2:
                self.gangs[number] = True

    def join(self, size: int) -> None:
        name, offered = f"n{next(self._ids)}", {"cpu": 2.0 * size, "memory": 8.0 / size}
        self.meter.node_joined(self.now, name, offered, float(size))
        self.state.nodes[name] = NaiveNode(offered, float(size))

    def leave(self, which: int) -> None:
        empty = [name for name in self.state.nodes if not self.state.on(name)]
        if empty:
            name = empty[which % len(empty)]
            self.meter.node_left(self.now, name)
            del self.state.nodes[name]

    def arrive(self, which: int) -> None:
        name, tenant, gang = f"p{next(self._ids)}", "xyz"[which % 3], f"g{which // 3}"
        requests = {"cpu": 1.0} if which % 2 else {"cpu": 0.5, "memory": 2.0}
        gang = gang if which >= 3 else ""
        facts = PodFacts(PodKind(tenant, 0, "c"), requests, gang=gang, gang_size=2 if gang else 0)
        self.meter.pod_arrived(self.now, name, facts)
        if gang and all(pod.gang != gang for pod in self.state.pods.values()):
            self.names[gang] = len(self.gangs)
            self.gangs.append(False)
        self.state.pods[name] = NaivePod(tenant, requests, gang)

    def place(self, which: int) -> None:
        for name, pod in self.state.pods.items():
            rooms = [
                node
                for node, each in self.state.nodes.items()
                if all(
                    self.state.asked(r, self.state.on(node)) + pod.requests.get(r, 0.0)
                    <= each.offered[r]
                    for r in RESOURCES
                )
            ]
            if not pod.node and rooms:
                pod.node = rooms[which % len(rooms)]
                self.seen.add(pod.node)
                self.meter.pod_placed(self.now, name, pod.node)
                return

    def stop(self, which: int) -> None:
        self._running(which, self.meter.pod_stopped, stays=True)

    def complete(self, which: int) -> None:
        self._running(which, self.meter.pod_completed)

    def withdraw(self, which: int) -> None:
        self._end(which, self.meter.pod_withdrawn, list(self.state.pods))

    def _running(
        self, which: int, tell: Callable[[float, str], None], *, stays: bool = False
    ) -> None:
        names = [name for name, pod in self.state.pods.items() if pod.node]
        self._end(which, tell, names, stays=stays)

    def _end(
        self,
        which: int,
        tell: Callable[[float, str], None],
        names: Sequence[str],
        *,
        stays: bool = False,
    ) -> None:
        if names:
            name = names[which % len(names)]
            tell(self.now, name)
            self.state.pods[name].node = ""
            if not stays:
                del self.state.pods[name]

    def mean(self, each: Callable[[State], float]) -> float:
        return sum(seconds * each(state) for seconds, state in self.states) / self.now

    def shares(self) -> Iterator[tuple[float, dict[str, float]]]:
        return ((seconds, state.dominant_shares()) for seconds, state in self.states)


KINDS = (
    "join",
    "leave",
    "arrive",
    "arrive",
    "place",
    "place",
    "stop",
    "complete",
    "withdraw",
    "wait",
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(1, 8),
    ),
    min_size=5,
    max_size=30,
)


@at_least(100)  # most do not have a gang that comes in part and goes
@given(STEPS)
def test_a_run_is_worth_what_its_moments_are(steps: list[tuple[str, int]]) -> None:
    run = Run()
    for name, number in [("join", 2), ("arrive", 1), *steps, ("wait", 1)]:
        getattr(run, name)(number)
        run.changed()
        # A change of a node counts from the next event of a pod.
        run.meter.settled(run.now)
        moment = run.meter.moment()
        assert moment.fragmentation == pytest.approx(run.state.fragmentation())
        assert (moment.waiting, moment.running, moment.nodes_in_use) == (
            len(run.state.pods) - len(run.state.running),
            len(run.state.running),
            len(run.state.in_use),
        )

    found = summarize(run.meter)

    assert found.makespan_s == run.now
    assert (found.gangs, found.gangs_never_placed) == (
        len(run.gangs),
        run.gangs.count(False),
    )
    paid = {
        tenant: run.now
        * run.mean(
            lambda state: sum(
                state.nodes[node].price / HOUR * state.payers(node).get(tenant, 0.0)  # noqa: B023
                for node in state.in_use
            )
        )
        for tenant in "xyz"
    }
    assert {tenant: found.cost_by_namespace.get(tenant, 0.0) for tenant in "xyz"} == (
        pytest.approx(paid)
    )
    want: dict[str, Any] = {
        "cost": sum(paid.values()),
        "cost_provisioned": run.now
        * run.mean(lambda state: sum(node.price for node in state.nodes.values()) / HOUR),
        "nodes_used": len(run.seen),
        "nodes_used_mean": run.mean(lambda state: len(state.in_use)),
        "nodes_used_peak": max(len(state.in_use) for _, state in run.states),
    }
    assert {name: getattr(found, name) for name in want} == {
        name: pytest.approx(value, abs=1e-7) for name, value in want.items()
    }


@given(STEPS)
def test_shares_and_fairness_are_means_over_time(steps: list[tuple[str, int]]) -> None:
    run = Run()
    for name, number in [("join", 2), ("arrive", 1), *steps, ("wait", 1)]:
        getattr(run, name)(number)
        run.changed()
    run.meter.settled(run.now)

    found = summarize(run.meter)

    tenants = {tenant for _, shares in run.shares() for tenant in shares}
    assert found.dominant_share == pytest.approx(
        {
            each: run.mean(lambda state: state.dominant_shares().get(each, 0.0))  # noqa: B023
            for each in tenants
        },
        abs=1e-7,
    )
    held = [(seconds, jain(shares)) for seconds, shares in run.shares()]
    weighed = [(seconds, index) for seconds, index in held if index is not None and seconds]
    if weighed:
        mean = sum(seconds * index for seconds, index in weighed) / sum(s for s, _ in weighed)
        assert found.fairness == pytest.approx(mean, abs=1e-7)
    for name in RESOURCES:
        capacity = run.mean(lambda state: state.capacity(name))  # noqa: B023
        if capacity:
            asked = run.mean(lambda state: state.asked(name, state.running))  # noqa: B023
            assert found.allocation[name] == pytest.approx(asked / capacity, abs=1e-7)
        offering = [(seconds, state) for seconds, state in run.states if state.nodes]
        length = sum(seconds for seconds, _ in offering)
        if length:
            apart = sum(seconds * state.deviation(name) for seconds, state in offering) / length
            assert found.balance[name] == pytest.approx(1 - apart, abs=1e-6)
