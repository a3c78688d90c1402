"""Profiles: points that need each other, scores that need no check, and variants."""

from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage import Cycle, Filter, Node, Nodes, Pod, PreBind, PreFilter, PreScore, Rejection, Score
from moorage.config.resolved_profile import Enabled, ResolvedProfile
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.events import EventHint
from moorage.framework.plugin import Needs, Plugin
from moorage.framework.plugin_registry import Registry, RegistryError
from moorage.framework.verdicts import PluginError
from moorage.testing import Cluster, node, pod


class Noted(PreFilter, Filter, PreScore, Score, frozen=True):
    """A plugin of somebody else's, whose Filter and Score go by what was noted before."""

    needs: ClassVar[Needs] = {"filter": "preFilter", "score": "preScore"}

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        cycle.state["Noted"] = 7

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        assert cycle.state["Noted"] == 7
        return None

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> None:
        cycle.state["Score/Noted"] = 8

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return int(cycle.state["Score/Noted"])


class TooHigh(Score, frozen=True):
    """Writes a score that is out of range."""

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        out[:] = 101


class Promised(TooHigh, frozen=True):
    """The same, though it promises that scores are in range."""

    scores_in_range = True


def enabled(plugin: Plugin, *points: str) -> Profile:
    name = type(plugin).plugin_name()
    at: dict[str, Any] = {point: (Enabled(name, 1),) for point in points}
    return Profile(ResolvedProfile("default-scheduler", None, at, {}), {name: plugin})


def run(profile: Profile) -> Decision | Unschedulable:
    return attempt.run(profile, Cluster(node("a"), node("b")).cycle(pod("web")))


def test_a_point_runs_where_the_point_it_needs_is_enabled() -> None:
    decided = run(enabled(Noted(), "preFilter", "filter", "preScore", "score"))

    assert isinstance(decided, Decision)


@pytest.mark.parametrize(
    ("points", "want"),
    [
        pytest.param(
            ("filter", "preScore", "score"),
            "running Filter plugin 'Noted': its PreFilter is disabled",
            id="a Filter without its PreFilter",
        ),
        pytest.param(
            ("preFilter", "filter", "score"),
            "running Score plugin 'Noted': its PreScore is disabled",
            id="a Score without its PreScore",
        ),
    ],
)
def test_a_plugin_from_outside_says_which_point_it_needs(
    points: tuple[str, ...], want: str
) -> None:
    with pytest.raises(PluginError, match=want):
        run(enabled(Noted(), *points))


@pytest.mark.parametrize(
    ("declared", "want"),
    [
        pytest.param(
            {"filter": "preFilter"},
            "Wrong.needs: the class line does not list the point 'preFilter'",
            id="a point that the plugin has not",
        ),
        pytest.param(
            {"reserve": "filter"},
            "Wrong.needs: 'reserve' is none of filter, preScore, score",
            id="a point that is not looked after",
        ),
    ],
)
def test_needs_that_make_no_sense_are_refused(declared: Needs, want: str) -> None:
    class Wrong(Filter, frozen=True):
        needs: ClassVar[Needs] = declared

    with pytest.raises(RegistryError) as caught:
        Registry([Wrong])

    assert want in str(caught.value)


class Waiting(Filter, frozen=True):
    async def filter(self, cycle: Cycle, pod: Pod, node: Node) -> None:  # type: ignore[override]
        return None


class WaitingAtTheEdge(Score, PreBind, frozen=True):
    async def events(self) -> tuple[EventHint, ...]:  # type: ignore[override]
        return ()


class WaitingToBind(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        return None


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(Waiting, "Waiting.filter is an `async def`", id="a hook of a point"),
        pytest.param(
            WaitingAtTheEdge,
            "WaitingAtTheEdge.events is an `async def`",
            id="a hook of all plugins",
        ),
    ],
)
def test_a_plugin_that_waits_where_nobody_does_is_refused(plugin: type[Plugin], want: str) -> None:
    with pytest.raises(RegistryError, match=want):
        Registry([plugin])


def test_a_plugin_may_wait_in_pre_bind() -> None:
    assert list(Registry([WaitingToBind])) == ["WaitingToBind"]


def test_scores_are_checked_unless_the_plugin_promises_them_in_range() -> None:
    with pytest.raises(PluginError, match="returned the score 101"):
        run(enabled(TooHigh(), "score"))

    assert isinstance(run(enabled(Promised(), "score")), Decision)


def test_a_variant_shares_all_state_and_leaves_the_profile_as_it_was() -> None:
    profile = Cluster().profile
    post_filter = list(profile.post_filter)

    quiet, acting = profile.without_post_filter(), profile.named("other")

    assert (quiet.post_filter, profile.post_filter) == ([], post_filter)
    assert (acting.scheduler_name, profile.scheduler_name) == ("other", "default-scheduler")
    assert acting.columns is quiet.columns is profile.columns
    assert acting.shared is quiet.shared is profile.shared
    assert acting.progress is quiet.progress is profile.progress
