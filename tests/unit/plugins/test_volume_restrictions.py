"""VolumeRestrictions: disks that cannot be shared, claims for one pod alone."""

from typing import Any

import numpy as np
import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Hint
from moorage.framework.verdicts import SKIP, unresolvable, unschedulable
from moorage.plugins.volume_restrictions import (
    CLAIM_CONFLICT,
    DISK_CONFLICT,
    VolumeRestrictions,
    after_claim_added,
    after_pod_deleted,
)
from moorage.testing import Cluster, PodBuilder, node, pod

RULE = VolumeRestrictions()
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def using(
    name: str, *volumes: dict[str, Any], on: str = "", namespace: str = "default"
) -> PodBuilder:
    named = [{"name": f"v{i}", **each} for i, each in enumerate(volumes)]
    built = pod(name, namespace).with_spec(volumes=named)
    return built.on(on) if on else built


def of_claim(name: str) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name}}


def claim(name: str, mode: str = "ReadWriteOncePod", namespace: str = "default") -> Any:
    raw = {"metadata": {"name": name, "namespace": namespace}, "spec": {"accessModes": [mode]}}
    return decode_as(raw, PersistentVolumeClaim)


def refused(cycle: Cycle) -> dict[str, str]:
    """The nodes that refuse the pod, with the reason."""
    table = cycle.table
    out = np.zeros(table.rows, dtype=np.int32)
    RULE.filter_all(cycle, cycle.pod, Nodes.all(table), out)
    return {
        name: RULE.rejection(cycle, cycle.pod, int(out[row])).message
        for name, row in table.row_of.items()
        if out[row]
    }


def gce(disk: str, read_only: bool) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": disk, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "readOnly": read_only}}


def rbd(image: str, read_only: bool, *monitors: str) -> dict[str, Any]:
    found = {"monitors": list(monitors), "pool": "p", "image": image, "readOnly": read_only}
    return {"rbd": found}


@pytest.mark.parametrize(
    ("wanted", "present", "clashes"),
    [
        pytest.param(EBS, EBS, True, id="an EBS volume is mounted once on a node"),
        pytest.param(
            EBS,
            {"awsElasticBlockStore": {"volumeID": "vol-2"}},
            False,
            id="two EBS volumes are two",
        ),
        pytest.param(gce("d", False), gce("d", False), True, id="a GCE disk is written by one pod"),
        pytest.param(gce("d", True), gce("d", False), True, id="a reader clashes with the writer"),
        pytest.param(gce("d", True), gce("d", True), False, id="readers share a GCE disk"),
        pytest.param(iscsi("q", False), iscsi("q", True), True, id="an iSCSI writer is alone"),
        pytest.param(iscsi("q", True), iscsi("q", True), False, id="iSCSI readers share"),
        pytest.param(
            rbd("i", False, "a", "b"),
            rbd("i", True, "b"),
            True,
            id="an RBD image behind one monitor",
        ),
        pytest.param(
            rbd("i", False, "a"), rbd("i", False, "b"), False, id="other monitors, another image"
        ),
        pytest.param(rbd("i", False, "a"), rbd("j", False, "a"), False, id="another RBD image"),
        pytest.param(gce("d", False), EBS, False, id="disks of two kinds never clash"),
    ],
)
def test_disks(wanted: dict[str, Any], present: dict[str, Any], clashes: bool) -> None:
    cluster = Cluster(node("a"), node("b"), using("there", present, on="a"))
    cycle = cluster.cycle(using("new", wanted))

    assert RULE.pre_filter(cycle, cycle.pod) is None
    assert refused(cycle) == ({"a": DISK_CONFLICT} if clashes else {})
    assert RULE.rejection(cycle, cycle.pod, 1) == unschedulable(DISK_CONFLICT)


def test_a_disk_is_free_again_when_its_pod_has_left() -> None:
    cluster = Cluster(node("a"), using("one", EBS, on="a"), using("two", EBS, on="a"))
    first = cluster.cycle(using("new", EBS))
    RULE.pre_filter(first, first.pod)
    assert refused(first) == {"a": DISK_CONFLICT}

    for uid in [info.uid for _, info in cluster.cache.pods()]:
        cluster.cache.remove_pod(uid)
    cycle = cluster.cycle(using("new", EBS))
    RULE.pre_filter(cycle, cycle.pod)

    assert refused(cycle) == {}


def test_a_pod_without_disks_and_claims_is_not_looked_at() -> None:
    cycle = Cluster(node("a")).cycle(using("new"))

    assert RULE.pre_filter(cycle, cycle.pod) is SKIP


def test_a_claim_that_does_not_exist_refuses_the_pod() -> None:
    cluster = Cluster(node("a"), claim("data", namespace="other"))
    cycle = cluster.cycle(using("new", of_claim("data")))

    answer = RULE.pre_filter(cycle, cycle.pod)

    assert answer == unresolvable('persistentvolumeclaim "data" not found')


@pytest.mark.parametrize(
    ("mode", "user", "is_used"),
    [
        pytest.param("ReadWriteOncePod", using("u", of_claim("data"), on="a"), True, id="in use"),
        pytest.param("ReadWriteOncePod", using("u", on="a"), False, id="not in use"),
        pytest.param("ReadWriteOnce", using("u", of_claim("data"), on="a"), False, id="shareable"),
        pytest.param(
            "ReadWriteOncePod",
            using("u", of_claim("data"), on="a", namespace="other"),
            False,
            id="another namespace's claim of that name in use",
        ),
        pytest.param(
            "ReadWriteOncePod",
            using("u", of_claim("data"), on="gone"),
            False,
            id="in use on a node that is not there",
        ),
    ],
)
def test_a_claim_for_one_pod(mode: str, user: PodBuilder, is_used: bool) -> None:
    cluster = Cluster(node("a"), node("b"), claim("data", mode), user)
    cycle = cluster.cycle(using("new", of_claim("data")))

    answer = RULE.pre_filter(cycle, cycle.pod)

    assert answer is (None if is_used else SKIP)
    if is_used:
        assert refused(cycle) == {"a": CLAIM_CONFLICT, "b": CLAIM_CONFLICT}


def test_a_trial_without_the_user_of_the_claim_frees_it() -> None:
    cluster = Cluster(node("a"), claim("data"), using("u", of_claim("data"), on="a"))
    cycle = cluster.cycle(using("new", of_claim("data")))
    RULE.pre_filter(cycle, cycle.pod)
    (user,) = cluster.cache.table.pods[0].values()

    with cluster.cache.trial():
        cluster.cache.displace(user)
        assert refused(cycle) == {}

    assert refused(cycle) == {"a": CLAIM_CONFLICT}


def test_a_trial_counts_claims_by_name_as_kube_scheduler_does() -> None:
    """A pod of another namespace with a claim of that name frees the claim when it leaves."""
    other = using("other", of_claim("data"), on="a", namespace="other")
    cluster = Cluster(node("a"), claim("data"), using("u", of_claim("data"), on="a"), other)
    cycle = cluster.cycle(using("new", of_claim("data")))
    RULE.pre_filter(cycle, cycle.pod)
    stranger = next(i for _, i in cluster.cache.pods() if i.pod.namespace == "other")

    with cluster.cache.trial():
        cluster.cache.displace(stranger)

        assert refused(cycle) == {}


@pytest.mark.parametrize(
    ("deleted", "want"),
    [
        pytest.param(using("d", EBS), Hint.QUEUE, id="it had the disk"),
        pytest.param(using("d", of_claim("data")), Hint.QUEUE, id="it used the claim"),
        pytest.param(using("d", of_claim("logs")), Hint.SKIP, id="it used another claim"),
        pytest.param(
            using("d", of_claim("data"), namespace="other"), Hint.SKIP, id="another namespace"
        ),
        pytest.param(
            using("d", EBS, namespace="other"),
            Hint.QUEUE,
            id="it had the disk, in another namespace",
        ),
    ],
)
def test_hint_after_a_pod_was_deleted(deleted: PodBuilder, want: Hint) -> None:
    waiting: Pod = using("new", EBS, of_claim("data")).build()

    assert after_pod_deleted(waiting, deleted.build(), None) is want


def test_hint_after_a_claim_was_added() -> None:
    waiting: Pod = using("new", of_claim("data")).build()

    assert after_claim_added(waiting, None, claim("data")) is Hint.QUEUE
    assert after_claim_added(waiting, None, claim("logs")) is Hint.SKIP
    assert after_claim_added(waiting, None, claim("data", namespace="other")) is Hint.SKIP
