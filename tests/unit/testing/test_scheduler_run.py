"""The whole scheduler in one line of a test."""

import pytest

from moorage import Cycle, Filter, Node, Pod, PostBind, QueuedPod, QueueSort, Rejection
from moorage.testing import node, pod, schedule


class Tally(PostBind, frozen=True):
    def post_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared.setdefault("order", []).append(pod.name)


class LastComesFirst(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> str:
        return "".join(chr(255 - ord(letter)) for letter in queued.info.pod.name)


class Broken(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        raise RuntimeError("out of coffee")


def test_pods_are_bound_and_events_tell_of_it() -> None:
    ended = schedule(node("a"), pod("web"), pod("huge").requesting(cpu="99"))

    assert ended.nodes == {"web": "a", "huge": ""}
    assert ended.said("web", "Scheduled") == ["Successfully assigned default/web to a"]
    assert ended.said("huge")[0].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_plugins_run_at_every_point_in_the_order_their_queue_gives() -> None:
    ended = schedule(node("a"), pod("a"), pod("b"), pod("c"), plugins=[Tally(), LastComesFirst()])

    assert ended.shared["order"] == ["c", "b", "a"]


def test_other_objects_are_given_as_they_are_written() -> None:
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }
    late = pod("late").with_spec(priorityClassName="urgent").requesting(cpu="4")
    low = pod("low").requesting(cpu="4")

    assert schedule(urgent, node("a"), low, late).nodes["late"] == "a"


def test_a_plugin_that_fails_costs_its_pods_and_nothing_else() -> None:
    ended = schedule(node("a"), pod("web"), plugins=[Broken()])

    assert ended.nodes == {"web": ""}
    assert "running Filter plugin 'Broken': RuntimeError: out of coffee" in ended.said("web")[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equal_seeds_end_alike(seed: int) -> None:
    nodes, pods = [node(f"n{i}") for i in range(5)], [pod(f"p{i}") for i in range(9)]

    assert schedule(*nodes, *pods, seed=seed).nodes == schedule(*nodes, *pods, seed=seed).nodes


GROUP = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"minMember": 3},
}


@pytest.mark.parametrize(("cpu", "bound"), [("1", 3), ("3", 0)])
def test_pods_of_a_group_are_placed_together_or_not_at_all(cpu: str, bound: int) -> None:
    member = {"scheduling.x-k8s.io/pod-group": "train"}
    pods = [pod(f"p{i}").requesting(cpu=cpu).labelled(member) for i in range(3)]

    ended = schedule(node("a"), node("b"), GROUP, *pods)

    assert len([name for name in ended.nodes.values() if name]) == bound
