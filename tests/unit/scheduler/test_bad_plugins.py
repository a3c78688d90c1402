"""A plugin that raises, hangs, answers nonsense or tampers: the loop goes on, and it is named."""

import threading
import time
from typing import Any

import pytest

from moorage import Cycle, Filter, Node, Pod, Rejection, Score
from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.cache.consistency import validate_cache
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.config.loader import load
from moorage.config.moorage_configuration import PluginGuard, WhenOpen
from moorage.framework.plugin import Plugin
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import Simulation, pods_of, simulate
from moorage.testing import node, pod
from moorage.watch.api_resources import EVENTS

GUARD = PluginGuard(deadline=Duration.parse("20ms"))


class Misbehaves(Filter, Score, frozen=True):
    """Does what a pod's label says, and nothing to pods without one."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        match pod.labels.get("fault"):
            case "raises":
                raise RuntimeError("out of coffee")
            case "sleeps":
                time.sleep(3600)
            case "loops":
                while True:
                    pass
            case "waits":
                threading.Lock().acquire() and threading.Event().wait()
            case "mutates":
                node.labels["seen"] = "true"
            case "says yes":
                return True  # type: ignore[return-value]
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        answers: dict[str, Any] = {
            "answers NaN": float("nan"),
            "answers 10**9": 10**9,
            "answers a text": "high",
        }
        answer: int = answers.get(pod.labels.get("fault", ""), 0)
        return answer


def run(*given: Any, plugin: type[Plugin] = Misbehaves, guard: PluginGuard = GUARD) -> Simulation:
    known = built_in_plugins.built_in()
    known.add(plugin)
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": plugin.__name__}]}}}],
    }
    configuration = load(document, known=built_in_plugins.describe_plugins(known)).configuration
    made = [
        Manifest({"apiVersion": "v1", "kind": type(obj.build()).__name__, **obj.raw}, "test", 1)
        for obj in given
    ]
    return simulate(made, configuration, known, guard=guard)


def places(simulation: Simulation) -> dict[str, str]:
    return {pod.name: pod.spec.node_name for pod in pods_of(simulation)}


def events(simulation: Simulation, reason: str) -> list[str]:
    found = simulation.cluster.objects(EVENTS)
    read = (simulation.cluster.read(EVENTS, event.namespace, event.name) for event in found)
    return [event["note"] for event in read if event["reason"] == reason]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("raises", "running Filter plugin 'Misbehaves': RuntimeError: out of coffee (in filter"),
        ("sleeps", "running Filter plugin 'Misbehaves': took longer than its deadline of 20ms"),
        ("loops", "running Filter plugin 'Misbehaves': took longer than its deadline of 20ms"),
        ("waits", "running Filter plugin 'Misbehaves': took longer than its deadline of 20ms"),
        (
            "mutates",
            "running Filter plugin 'Misbehaves': MutationError: what a plugin is given may not",
        ),
        ("says yes", "running Filter plugin 'Misbehaves': answered True: answer None or a"),
        ("answers NaN", "running Score plugin 'Misbehaves': scored node a nan: find out"),
        ("answers 10**9", "running Score plugin 'Misbehaves': scored node a 1000000000: scores"),
        ("answers a text", "running Score plugin 'Misbehaves': scored node a 'high': a score is"),
    ],
)
def test_one_pods_fault_is_no_other_pods(fault: str, complaint: str) -> None:
    """The bad pod is tried again after its backoff; the others are scheduled meanwhile."""
    good = [pod(f"good-{i}").requesting(cpu="100m") for i in range(5)]
    guard = PluginGuard(deadline=GUARD.deadline, failure_threshold=0)
    ended = run(
        node("a"), node("b"), pod("bad").labelled(fault=fault).prioritised(9), *good, guard=guard
    )

    placed = places(ended)
    assert placed.pop("bad") == ""
    assert all(placed.values())
    assert any(complaint in note for note in events(ended, "FailedScheduling"))
    assert ended.story.last["default/bad"].attempts > 5
    validate_cache(ended.scheduler.cache)
    ended.scheduler.queue.validate()


def test_who_is_switched_off_is_named_in_an_event_and_left_out_until_it_works_again() -> None:
    guard = PluginGuard(failure_threshold=2, when_open=WhenOpen.IGNORE)
    ended = run(node("a"), node("b"), pod("bad").labelled(fault="raises"), guard=guard)

    assert places(ended)["bad"], "scheduled without the plugin, at the third attempt"
    (note,) = events(ended, "PluginSwitchedOff")
    assert note.startswith("plugin 'Misbehaves' is switched off for 30s, after 2 failed attempts")
    assert "pods are scheduled without it (pluginGuard.whenOpen: Ignore)" in note
    assert "The last failure, at Filter: RuntimeError: out of coffee" in note


class DescribesItselfBadly(Filter, frozen=True):
    def concerns(self) -> int:
        raise ValueError("of what?")

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None


def test_a_profile_that_cannot_be_built_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match="a profile cannot be built: running Concerns plugin '"):
        run(node("a"), plugin=DescribesItselfBadly)


def test_profiles_are_guarded_unless_told_otherwise() -> None:
    known = built_in_plugins.built_in()
    known.add(Misbehaves)
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Misbehaves"}]}}}],
    }
    configuration = load(document, known=built_in_plugins.describe_plugins(known)).configuration

    (profile,) = build_profiles(configuration, known).values()

    assert [guard.plugin for guard in profile.guards] == ["Misbehaves"]
