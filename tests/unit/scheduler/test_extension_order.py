"""From the queue to PostBind: each extension point in its turn, and bindings beside each other."""

import asyncio
from typing import Any, ClassVar

import pytest

from moorage import (
    Bind,
    Cycle,
    Filter,
    Node,
    Permit,
    Pod,
    PostBind,
    PreBind,
    PreFilter,
    PreScore,
    QueuedPod,
    QueueSort,
    Rejection,
    Reserve,
    Score,
)
from moorage.framework.verdicts import SKIP
from moorage.testing import node, pod
from moorage.testing.scheduler_run import schedule


class Witness(
    QueueSort,
    PreFilter,
    Filter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
    frozen=True,
):
    """Notes when it is asked, and has no opinion."""

    seen: ClassVar[list[str]] = []

    def sort_key(self, queued: QueuedPod) -> Any:
        self._note("QueueSort")
        return queued.timestamp

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        self._note("PreFilter")

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        self._note("Filter")
        return None

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Any) -> None:
        self._note("PreScore")

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        self._note("Score")
        return 0

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        self._note("Reserve")

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        self._note("Permit")

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        self._note("PreBind")

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> Any:
        self._note("Bind")
        return SKIP

    def post_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        self._note("PostBind")

    def _note(self, point: str) -> None:
        if point not in self.seen:
            self.seen.append(point)


def test_every_point_is_asked_in_its_turn() -> None:
    Witness.seen.clear()

    ran = schedule(node("a"), node("b"), pod("web"), plugins=[Witness()])

    assert ran.nodes["web"] in ("a", "b")
    assert Witness.seen == [
        *("QueueSort", "PreFilter", "Filter", "PreScore", "Score"),
        *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
    ]


class SlowToBind(PreBind, frozen=True):
    """Takes half a minute over one pod."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        if pod.name == "1-slow":
            await asyncio.sleep(30)


@pytest.mark.parametrize(("seconds", "slow"), [(10.0, ""), (60.0, "a")])
def test_a_slow_binding_holds_up_nobody_else(seconds: float, slow: str) -> None:
    """The pod is assumed on its node meanwhile: its room is nobody else's."""
    objects = [
        pod("1-slow").requesting(cpu="3"),
        pod("2-quick").requesting(cpu="1"),
        pod("3-large").requesting(cpu="2"),
    ]

    ran = schedule(node("a").offering(cpu="4"), *objects, plugins=[SlowToBind()], seconds=seconds)

    assert ran.nodes == {"1-slow": slow, "2-quick": "a", "3-large": ""}


class LovesTheFull(Score, frozen=True):
    """Prefers a node whatever room it has, as a plugin does that forgets about resources."""

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if node.name == "full" else 0


def test_a_plugin_that_forgets_resources_does_not_overload_nodes() -> None:
    full, roomy = node("full").offering(cpu="1"), node("roomy").offering(cpu="8")

    ran = schedule(
        full,
        roomy,
        pod("old").requesting(cpu="1").on("full"),
        pod("web").requesting(cpu="1"),
        plugins=[LovesTheFull()],
    )

    assert ran.nodes["web"] == "roomy"
