"""Devices of a class are counted by node: those it reaches, and those of them that are taken."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.devices.device_cache import device_cache
from moorage.devices.totals import device_totals
from moorage.testing import Cluster, node

DRIVER = "gpu.example.com"
IN_EAST = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}
    ]
}


def counted(where: dict[str, Any], *devices: dict[str, Any], selector: str = "") -> list[int]:
    """How many devices are counted for a node in the east, and for one in the west."""
    named = [{"name": f"gpu-{index}", **device} for index, device in enumerate(devices)]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slice_ = {"driver": DRIVER, "pool": pool, "devices": named, **where}
    chosen = [{"cel": {"expression": selector}}] if selector else []
    made = Cluster(node("a").labelled(zone="east"), node("b").labelled(zone="west"))
    made.add(decode_as({"metadata": {"name": "s"}, "spec": slice_}, ResourceSlice))
    cls = decode_as({"metadata": {"name": "gpu"}, "spec": {"selectors": chosen}}, DeviceClass)
    totals = device_totals(device_cache(made.cache), made.cache.table, cls)
    return [int(totals.offered[made.cache.table.row_of[name]]) for name in ("a", "b")]


@pytest.mark.parametrize(
    ("where", "want"),
    [
        pytest.param({"nodeName": "b"}, [0, 2], id="a slice of one node is that node's"),
        pytest.param({"allNodes": True}, [2, 2], id="a slice of all nodes is everybody's"),
        pytest.param({"nodeSelector": IN_EAST}, [2, 0], id="a selector chooses nodes"),
    ],
)
def test_devices_count_where_their_slice_is_reached(where: dict[str, Any], want: list[int]) -> None:
    assert counted(where, {}, {}) == want


def test_devices_that_name_their_own_nodes_count_there() -> None:
    own = {"nodeName": "a"}, {"allNodes": True}, {"nodeSelector": IN_EAST}

    assert counted({"perDeviceNodeSelection": True}, *own) == [3, 1]


def test_only_devices_that_the_class_selects_count() -> None:
    healthy = f"device.attributes['{DRIVER}'].healthy"
    devices = [{"attributes": {"healthy": {"bool": each}}} for each in (True, False, True)]

    assert counted({"allNodes": True}, *devices, selector=healthy) == [2, 2]


def test_nothing_counts_where_a_selector_fails_over_a_device() -> None:
    healthy = f"device.attributes['{DRIVER}'].healthy"

    assert counted({"nodeName": "a"}, {}, selector=healthy) == [0, 0]
