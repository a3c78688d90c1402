"""The smallest change for a whole gang: applied to all of its pods, the gang fits."""

from typing import Any

from moorage.explain import json_patch
from moorage.explain.change import Change, Objects
from moorage.explain.explanation import Explanation
from moorage.explain.sources import Source
from tests.unit.explain.test_sources import node_of, stands, written

Raw = dict[str, Any]


def gang(size: int, cpu: str, **spec: Any) -> list[Raw]:
    group: Raw = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": size},
    }
    members = [written(f"t{i}", **spec) for i in range(size)]
    for member in members:
        member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "train"}
        member["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return [group, *members]


def told(*objects: Raw) -> Explanation:
    return stands(*objects).explain("t0")


def fits(source: Source) -> bool:
    return source.explain("t0").message.startswith("it fits")


def applied(objects: list[Raw], change: Change) -> Source:
    """The cluster once a change was made to every pod of the gang."""
    if isinstance(change.patch, Objects):
        gone = {each["name"] for each in change.patch.delete}
        kept = [each for each in objects if each["metadata"]["name"] not in gone]
        return stands(*change.patch.add, *kept)
    source = stands(*objects)
    changed = [
        json_patch.apply(source.raw(source.pod(each["metadata"]["name"])), change.patch)
        if each["kind"] == "Pod" and each["metadata"]["name"].startswith("t")
        else each
        for each in objects
    ]
    return stands(*({"apiVersion": "v1", "kind": "Pod", **each} for each in changed))


def test_all_pods_of_a_gang_ask_for_less_and_no_less_than_needed() -> None:
    objects = [node_of("n1"), *gang(3, "2")]
    answer = told(*objects)

    assert "2 of the 3 pods needed fit" in answer.message
    (change,) = [each for each in answer.changes if each.kind == "request"]
    assert "1333m of cpu instead of 2" in change.summary
    assert fits(applied(objects, change))


def test_the_fewest_nodes_are_added_for_a_gang() -> None:
    objects = [node_of("n1"), *gang(7, "2")]
    (change,) = [each for each in told(*objects).changes if each.kind == "node"]

    assert change.summary == "add 3 nodes like n1"
    assert isinstance(change.patch, Objects)
    assert fits(applied(objects, change))
    fewer = Objects(add=change.patch.add[1:])
    assert not fits(stands(*fewer.add, *objects))


def test_pods_are_evicted_for_a_gang_and_none_of_them_could_stay() -> None:
    running = [written(f"r{i}", nodeName="n1") for i in range(3)]
    objects = [node_of("n1"), node_of("n2"), *running, *gang(3, "2")]
    (change,) = [each for each in told(*objects).changes if each.kind == "evict"]

    assert isinstance(change.patch, Objects)
    assert len(change.patch.delete) == 1
    assert fits(applied(objects, change))


def test_a_rule_is_dropped_in_all_pods_of_a_gang() -> None:
    tainted = node_of("n2")
    tainted["spec"] = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    objects = [node_of("n1"), tainted, *gang(3, "2")]
    (change,) = [each for each in told(*objects).changes if each.kind == "toleration"]

    assert fits(applied(objects, change))


def test_a_gang_that_is_packed_in_one_zone_is_counted_there() -> None:
    zones = [node_of(name) for name in ("a", "b")]
    for each in zones:
        name = each["metadata"]["name"]
        each["metadata"]["labels"] = {"topology.kubernetes.io/zone": name}
    group, *members = gang(3, "2")
    free = stands(*zones, group, *members)
    assert fits(free)
    group["metadata"]["annotations"] = {
        "moorage.io/required-topology": "topology.kubernetes.io/zone"
    }

    assert "2 of the 3 pods needed fit" in told(*zones, group, *members).message
