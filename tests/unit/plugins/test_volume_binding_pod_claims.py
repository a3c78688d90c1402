"""VolumeBinding before any node is looked at: which claims a pod has, and what is in the way."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import PersistentVolumeClaim, StorageClass
from moorage.framework.verdicts import SKIP, PluginError, Rejection, unresolvable
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_binding.pod_claims import UNBOUND_IMMEDIATE
from moorage.plugins.volumes.persistent_volumes import BIND_COMPLETED
from moorage.testing import Cluster, PodBuilder, node, pod

RULE = VolumeBinding()
WAITING = "WaitForFirstConsumer"


def claim(
    spec: dict[str, Any] | None = None, phase: str = "Pending", **meta: Any
) -> PersistentVolumeClaim:
    metadata = {"name": "data", "namespace": "default", **meta}
    raw = {"metadata": metadata, "spec": spec or {}, "status": {"phase": phase}}
    return decode_as(raw, PersistentVolumeClaim)


def storage_class(mode: str | None = WAITING) -> StorageClass:
    raw = {"metadata": {"name": "fast"}, "provisioner": "p", "volumeBindingMode": mode}
    return decode_as(raw, StorageClass)


CLAIMING = pod("web").with_spec(
    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
)
EPHEMERAL = pod("web").with_spec(volumes=[{"name": "v", "ephemeral": {}}])
FAST = {"storageClassName": "fast"}


def answer(wanted: PodBuilder, *objects: Any) -> Any:
    cycle = Cluster(node("n"), *objects).cycle(wanted)
    return RULE.pre_filter(cycle, cycle.pod)


def test_a_pod_without_claims_is_not_looked_at() -> None:
    assert answer(pod("web").with_spec(volumes=[{"name": "v", "hostPath": {}}])) is SKIP


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="the claim is not there"),
        pytest.param(
            [claim(namespace="other")],
            'persistentvolumeclaim "data" not found',
            id="a claim of another namespace is not the pod's",
        ),
        pytest.param(
            [claim({"volumeName": "pv"}, phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="the claim has lost its volume",
        ),
        pytest.param(
            [claim(deletionTimestamp="2026-01-01T00:00:00Z")],
            'persistentvolumeclaim "data" is being deleted',
            id="the claim is being deleted",
        ),
        pytest.param([claim()], UNBOUND_IMMEDIATE, id="a claim without a class binds at once"),
        pytest.param(
            [claim(FAST)], UNBOUND_IMMEDIATE, id="so does one of a class that is not there"
        ),
        pytest.param(
            [claim(FAST), storage_class("Immediate")],
            UNBOUND_IMMEDIATE,
            id="and of an immediate class",
        ),
        pytest.param(
            [claim({**FAST, "volumeName": "pv"}), storage_class()],
            UNBOUND_IMMEDIATE,
            id="a claim that names its volume is bound by the controller",
        ),
    ],
)
def test_what_is_in_the_way(objects: list[Any], want: str) -> None:
    assert answer(CLAIMING, *objects) == unresolvable(want)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(FAST), storage_class()], id="a claim of a class that waits"),
        pytest.param(
            [claim({"volumeName": "pv"}, annotations={BIND_COMPLETED: "yes"})], id="a bound claim"
        ),
        pytest.param(
            [
                claim(annotations={"volume.beta.kubernetes.io/storage-class": "fast"}),
                storage_class(),
            ],
            id="a claim that names its class in the beta annotation",
        ),
    ],
)
def test_what_is_left_to_the_nodes(objects: list[Any]) -> None:
    assert answer(CLAIMING, *objects) is None


def test_a_class_that_does_not_say_when_to_bind_is_an_error() -> None:
    with pytest.raises(PluginError, match='VolumeBindingMode not set for StorageClass "fast"'):
        answer(CLAIMING, claim(FAST), storage_class(None))


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [],
            unresolvable(
                "waiting for ephemeral volume controller to create the "
                'persistentvolumeclaim "web-v"'
            ),
            id="its claim is still to be made",
        ),
        pytest.param(
            [claim(FAST, name="web-v"), storage_class()],
            unresolvable(
                "PVC default/web-v was not created for pod default/web (pod is not owner)"
            ),
            id="a claim of that name that someone else made",
        ),
        pytest.param(
            [
                claim(
                    FAST,
                    name="web-v",
                    ownerReferences=[{"kind": "Pod", "uid": "default/web", "controller": True}],
                ),
                storage_class(),
            ],
            None,
            id="the pod's own claim",
        ),
    ],
)
def test_an_ephemeral_volume(objects: list[Any], want: Rejection | None) -> None:
    assert answer(EPHEMERAL, *objects) == want
