"""VolumeZone: a pod goes where its bound volumes are."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.framework.events import Hint
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable
from moorage.plugins.volume_zone import (
    CONFLICT,
    NAMELESS_CLAIM,
    NAMELESS_VOLUME,
    NO_VOLUME_AND_NO_CLASS,
    VolumeZone,
    after_claim_change,
    after_class_added,
    after_volume_change,
)
from moorage.testing import Cluster, NodeBuilder, node, pod

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


def wanting(claim: str) -> Any:
    return pod("web").with_spec(volumes=[{"persistentVolumeClaim": {"claimName": claim}}])


def claim(name: str = "data", **spec: Any) -> PersistentVolumeClaim:
    raw = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return decode_as(raw, PersistentVolumeClaim)


def volume(**labels: str) -> PersistentVolume:
    return decode_as({"metadata": {"name": "pv", "labels": labels}}, PersistentVolume)


def storage_class(mode: str | None) -> StorageClass:
    raw = {"metadata": {"name": "fast"}, "provisioner": "p", "volumeBindingMode": mode}
    return decode_as(raw, StorageClass)


@pytest.mark.parametrize(
    ("labels", "at", "fits"),
    [
        pytest.param({ZONE: "a"}, node("n").labelled({ZONE: "a"}), True, id="the volume's zone"),
        pytest.param({ZONE: "a"}, node("n").labelled({ZONE: "b"}), False, id="another zone"),
        pytest.param(
            {ZONE: "a__b"}, node("n").labelled({ZONE: "b"}), True, id="one of the volume's zones"
        ),
        pytest.param(
            {ZONE: "a"},
            node("n"),
            True,
            id="a node without zone and region labels takes any volume",
        ),
        pytest.param(
            {ZONE: "a"},
            node("n").labelled({REGION: "r"}),
            False,
            id="a node with only a region lacks the zone",
        ),
        pytest.param(
            {BETA_ZONE: "a"},
            node("n").labelled({ZONE: "a"}),
            True,
            id="a beta label is met by today's label",
        ),
        pytest.param(
            {BETA_ZONE: "a"},
            node("n").labelled({ZONE: "a", BETA_ZONE: "b"}),
            False,
            id="the node's own beta label goes first",
        ),
        pytest.param(
            {ZONE: "a"},
            node("n").labelled({BETA_ZONE: "a"}),
            False,
            id="today's label is not met by a beta one",
        ),
        pytest.param(
            {ZONE: "a", REGION: "r"},
            node("n").labelled({ZONE: "a", REGION: "s"}),
            False,
            id="zone and region must both match",
        ),
    ],
)
def test_where_a_volume_is_near(labels: dict[str, str], at: NodeBuilder, fits: bool) -> None:
    objects = (claim(volumeName="pv"), volume(**labels))
    cluster = Cluster(at, *objects, plugins=[VolumeZone()], alone=True)

    text = f"0/1 nodes are available: 1 {CONFLICT}."
    assert cluster.why_not(wanting("data")) == ("" if fits else text)


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [], unresolvable('persistentvolumeclaim "data" not found'), id="the claim is not there"
        ),
        pytest.param(
            [claim(volumeName="pv")],
            unresolvable('persistentvolume "pv" not found'),
            id="its volume is not there",
        ),
        pytest.param(
            [claim()], unresolvable(NO_VOLUME_AND_NO_CLASS), id="neither volume nor class"
        ),
        pytest.param(
            [claim(storageClassName="fast")],
            unresolvable('storageclass.storage.k8s.io "fast" not found'),
            id="the class is not there",
        ),
        pytest.param(
            [claim(storageClassName="fast"), storage_class(None)],
            unresolvable('VolumeBindingMode not set for StorageClass "fast"'),
            id="the class does not say when to bind",
        ),
        pytest.param(
            [claim(storageClassName="fast"), storage_class("Immediate")],
            unresolvable(NAMELESS_VOLUME),
            id="the class binds at once, and has not yet",
        ),
        pytest.param(
            [claim(storageClassName="fast"), storage_class("WaitForFirstConsumer")],
            SKIP,
            id="the class waits for the pod",
        ),
        pytest.param([claim(volumeName="pv"), volume()], SKIP, id="the volume has no such label"),
        pytest.param(
            [claim(volumeName="pv"), volume(**{ZONE: "a__"})], SKIP, id="the label is malformed"
        ),
        pytest.param(
            [claim(volumeName="pv"), volume(**{ZONE: "a"})], None, id="the volume has a zone"
        ),
    ],
)
def test_pre_filter(objects: list[Any], want: Rejection | Skip | None) -> None:
    cycle = Cluster(node("n"), *objects).cycle(wanting("data"))

    assert VolumeZone().pre_filter(cycle, cycle.pod) == want


def test_a_claim_without_a_name_refuses_the_pod() -> None:
    cycle = Cluster(node("n")).cycle(wanting(""))

    assert VolumeZone().pre_filter(cycle, cycle.pod) == unresolvable(NAMELESS_CLAIM)


def test_pods_whose_volumes_are_in_the_same_zones_share_a_column() -> None:
    cluster = Cluster(node("n"), claim(volumeName="pv"), volume(**{ZONE: "a"}))
    first, second = cluster.cycle(wanting("data")), cluster.cycle(wanting("data"))

    assert VolumeZone().sign(first) == VolumeZone().sign(second)


def test_hints() -> None:
    waiting = wanting("data").build()

    assert after_class_added(waiting, None, storage_class("WaitForFirstConsumer")) is Hint.QUEUE
    assert after_class_added(waiting, None, storage_class("Immediate")) is Hint.SKIP
    assert after_claim_change(waiting, None, claim("data")) is Hint.QUEUE
    assert after_claim_change(waiting, None, claim("logs")) is Hint.SKIP
    assert after_volume_change(waiting, None, volume()) is Hint.QUEUE
    assert after_volume_change(waiting, volume(), volume(**{ZONE: "a"})) is Hint.QUEUE
    assert after_volume_change(waiting, volume(tier="a"), volume(tier="b")) is Hint.SKIP
