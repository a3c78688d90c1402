"""Who belongs together, as far as is known."""

from typing import Any

import pytest

from moorage.api import podgroup
from moorage.api.decode import decode_as
from moorage.api.podgroup import OLDER_POD_GROUP_LABEL, POD_GROUP_LABEL, PodGroup
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.testing import PodBuilder, pod
from tests.unit.gang.gang_world import group, member

KEY = "default/train"


def made(members: int, uid: str = "g", **fields: Any) -> PodGroup:
    raw = group("train", members, **fields)
    raw["metadata"]["uid"] = uid
    return decode_as(raw, PodGroup)


def directory(*pods: PodBuilder, members: int | None = 3) -> Directory:
    found = Directory({"default-scheduler"})
    found.in_use = True
    if members is not None:
        found.put_object(made(members))
    for built in pods:
        found.put_pod(built.build(), 1.0)
    return found


def train(found: Directory) -> Group:
    known = found.get(KEY)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("built", "names"),
    [
        pytest.param(pod("p"), (), id="most pods name none"),
        pytest.param(pod("p").labelled({POD_GROUP_LABEL: "a"}), ("a",), id="a label"),
        pytest.param(pod("p").labelled({POD_GROUP_LABEL: ""}), (), id="an empty label"),
        pytest.param(
            pod("p").labelled({POD_GROUP_LABEL: "a", OLDER_POD_GROUP_LABEL: "a"}),
            ("a",),
            id="twice alike",
        ),
        pytest.param(
            pod("p").labelled({POD_GROUP_LABEL: "a", OLDER_POD_GROUP_LABEL: "b"}),
            ("a", "b"),
            id="two",
        ),
        pytest.param(
            pod("p").with_spec(schedulingGroup={"podGroupName": "a"}), ("a",), id="a field"
        ),
        pytest.param(pod("p").with_spec(schedulingGroup={}), (), id="an empty field"),
    ],
)
def test_the_groups_that_a_pod_names(built: PodBuilder, names: tuple[str, ...]) -> None:
    assert podgroup.group_names(built.build()) == names


@pytest.mark.parametrize(
    ("built", "counts"),
    [
        pytest.param(member("p", "train"), True, id="a pod of ours"),
        pytest.param(member("p", "train").scheduled_by("other"), False, id="one of another's"),
        pytest.param(
            member("p", "train").scheduled_by("other").on("a"),
            True,
            id="one of another's that runs",
        ),
        pytest.param(member("p", "train").gated("x"), False, id="one behind a scheduling gate"),
        pytest.param(pod("p"), False, id="one of no group"),
    ],
)
def test_who_is_a_member(built: PodBuilder, counts: bool) -> None:
    assert train(directory(built)).members == counts


def test_a_pod_that_is_deleted_is_no_member() -> None:
    leaving = member("p", "train")
    leaving.raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert train(directory(leaving)).members == 0


def test_a_pod_moves_from_waiting_to_placed() -> None:
    found = directory(member("p", "train"))
    found.put_pod(member("p", "train").on("a").build(), 2.0)

    assert (len(train(found).waiting), len(train(found).placed)) == (0, 1)


def test_a_pod_that_changes_groups_leaves_the_first() -> None:
    found = directory(member("p", "train"))

    touched = found.put_pod(member("p", "other").build(), 2.0)

    assert {group.key for group in touched} == {KEY, "default/other"}
    assert train(found).members == 0


def test_a_new_version_of_a_pod_touches_nobody() -> None:
    found = directory(member("p", "train"))

    assert found.put_pod(member("p", "train").annotated(seen="yes").build(), 2.0) == []


def test_a_group_without_object_or_pods_is_forgotten() -> None:
    found = directory(member("p", "train"), members=None)

    found.remove_pod("default/p")

    assert len(found) == 0


def test_why_pods_may_not_be_attempted() -> None:
    found = directory(member("a", "train"), members=None)
    probe = member("a", "train").build()
    assert found.refusal(probe) == "waiting for PodGroup default/train to be created"
    found.put_object(made(3))
    assert found.refusal(probe) == (
        "waiting for 2 more pods of PodGroup default/train: 1 of 3 exist"
    )
    for name in "bc":
        found.put_pod(member(name, "train").build(), 1.0)
    assert found.refusal(probe) is None
    for _ in range(4):
        train(found).fail()
    assert found.refusal(probe) == "PodGroup default/train backs off after 4 attempts that failed"
    train(found).complete_backoff()
    train(found).evict(["x"])
    assert found.refusal(probe) == (
        "waiting for 1 pod preempted by PodGroup default/train to leave"
    )


def test_while_it_is_not_in_use_nobody_is_refused() -> None:
    found = directory(member("a", "train"))
    found.in_use = False

    assert found.refusal(member("a", "train").build()) is None


def test_of_two_dialects_under_one_name_the_last_counts_until_it_is_deleted() -> None:
    found = directory(members=3)
    own = made(0, uid="own", schedulingPolicy={"gang": {"minCount": 5}})
    found.put_object(own)
    assert train(found).minimum == 5
    found.remove_object(own)
    assert train(found).minimum == 3


def test_a_group_that_was_whole_replaces_its_pods_one_by_one_while_any_runs() -> None:
    found = directory(*[member(f"p{i}", "train").on("a") for i in range(3)])
    assert train(found).started
    found.remove_pod("default/p0")
    assert train(found).refusal() is None
    for name in ("p1", "p2"):
        found.remove_pod(f"default/{name}")
    assert not train(found).started


def test_pods_that_are_about_to_be_evicted_are_gone_whatever_is_heard_of_them() -> None:
    running = member("p", "train").on("a")
    found = directory(running)

    found.doom(["default/p"])
    found.put_pod(running.annotated(seen="yes").build(), 2.0)
    assert train(found).members == 0
    found.spare("default/p")
    found.put_pod(running.build(), 3.0)
    assert train(found).members == 1
