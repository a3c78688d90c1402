"""Which events bring a pod back that VolumeBinding refused."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.framework.events import Action, Hint, Resource
from moorage.plugins.volume_binding import plugin
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS
from moorage.testing import pod

WAITING = (
    pod("web")
    .with_spec(
        volumes=[
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "ephemeral": {}},
            {"name": "c", "csi": {"driver": "csi.x"}},
        ]
    )
    .build()
)


def storage_class(*zones: str) -> StorageClass:
    topology = [{"matchLabelExpressions": [{"key": "zone", "values": list(zones)}]}]
    return decode_as({"metadata": {"name": "fast"}, "allowedTopologies": topology}, StorageClass)


def claim(name: str, namespace: str = "default") -> PersistentVolumeClaim:
    return decode_as({"metadata": {"name": name, "namespace": namespace}}, PersistentVolumeClaim)


def csi_node(**annotations: str) -> CSINode:
    return decode_as({"metadata": {"name": "n", "annotations": annotations}}, CSINode)


def driver(keeps_account: bool | None, name: str = "csi.x") -> CSIDriver:
    spec = {"storageCapacity": keeps_account}
    return decode_as({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def capacity(**sizes: str) -> CSIStorageCapacity:
    return decode_as({"metadata": {"name": "p", "namespace": "x"}, **sizes}, CSIStorageCapacity)


@pytest.mark.parametrize(
    ("hint", "old", "new", "want"),
    [
        pytest.param(
            plugin.after_class_change, None, storage_class(), Hint.QUEUE, id="a new class"
        ),
        pytest.param(
            plugin.after_class_change,
            storage_class("x"),
            storage_class("x", "y"),
            Hint.QUEUE,
            id="a class with other topologies",
        ),
        pytest.param(
            plugin.after_class_change,
            storage_class("x"),
            storage_class("x"),
            Hint.SKIP,
            id="a class with the same topologies",
        ),
        pytest.param(
            plugin.after_claim_change, None, claim("data"), Hint.QUEUE, id="the pod's claim"
        ),
        pytest.param(
            plugin.after_claim_change, None, claim("web-b"), Hint.QUEUE, id="its ephemeral claim"
        ),
        pytest.param(plugin.after_claim_change, None, claim("logs"), Hint.SKIP, id="another claim"),
        pytest.param(
            plugin.after_claim_change, None, claim("data", "other"), Hint.SKIP, id="elsewhere"
        ),
        pytest.param(
            plugin.after_csi_node_change, None, csi_node(), Hint.QUEUE, id="a new CSINode"
        ),
        pytest.param(
            plugin.after_csi_node_change,
            csi_node(),
            csi_node(**{MIGRATED_PLUGINS: "kubernetes.io/aws-ebs"}),
            Hint.QUEUE,
            id="a plugin has migrated",
        ),
        pytest.param(
            plugin.after_csi_node_change, csi_node(a="b"), csi_node(), Hint.SKIP, id="no plugin has"
        ),
        pytest.param(
            plugin.after_driver_change,
            driver(True),
            driver(False),
            Hint.QUEUE,
            id="the driver stops keeping account",
        ),
        pytest.param(
            plugin.after_driver_change, driver(None), driver(True), Hint.SKIP, id="it starts to"
        ),
        pytest.param(
            plugin.after_driver_change,
            driver(True, "csi.y"),
            driver(False, "csi.y"),
            Hint.QUEUE,
            id="a driver that the pod's claims may need",
        ),
        pytest.param(
            plugin.after_driver_change, driver(True), None, Hint.QUEUE, id="the driver is gone"
        ),
        pytest.param(
            plugin.after_capacity_change,
            None,
            capacity(capacity="1Gi"),
            Hint.QUEUE,
            id="a new pool",
        ),
        pytest.param(
            plugin.after_capacity_change,
            capacity(capacity="1Gi"),
            capacity(capacity="2Gi"),
            Hint.QUEUE,
            id="a pool that grew",
        ),
        pytest.param(
            plugin.after_capacity_change,
            capacity(capacity="1Gi", maximumVolumeSize="1Gi"),
            capacity(capacity="2Gi", maximumVolumeSize="1Gi"),
            Hint.SKIP,
            id="a pool whose largest volume stays",
        ),
        pytest.param(
            plugin.after_capacity_change,
            capacity(),
            capacity(capacity="1Gi"),
            Hint.QUEUE,
            id="a pool that has something to offer now",
        ),
    ],
)
def test_hint(hint: Any, old: Any, new: Any, want: Hint) -> None:
    assert hint(WAITING, old, new) is want


def test_any_new_or_changed_volume_may_help() -> None:
    volumes = [
        hint
        for hint in VolumeBinding().events()
        if hint.event.resource is Resource.PERSISTENT_VOLUME
    ]

    assert [(hint.event.action, hint.hint) for hint in volumes] == [
        (Action.ADD | Action.UPDATE, None)
    ]
