"""The pools of nodes that come and go."""

from moorage.api.decode import decode_as
from moorage.api.resource_slices import ResourceSlice
from moorage.cache.cache import Cache
from moorage.devices.device_cache import device_cache
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import LOOKED_THROUGH_FROM, PoolIndex
from moorage.testing import node


def offered(where: str, *devices: str) -> ResourceSlice:
    return decode_as(
        {
            "metadata": {"name": f"slice-{where}"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": where,
                "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": name} for name in devices],
            },
        },
        ResourceSlice,
    )


def test_nothing_is_kept_of_nodes_that_are_gone() -> None:
    cache = Cache()
    devices = device_cache(cache)
    cache.put_node(node("stays").build())
    for number in range(5 * LOOKED_THROUGH_FROM):
        spot, its_slice = node(f"spot-{number}").build(), offered(f"spot-{number}", "gpu-0")
        cache.put_node(spot)
        cache.objects.put(its_slice)
        assert len(devices.pools.of(spot).candidates) == 1
        cache.objects.remove(its_slice)
        cache.remove_node(spot)

    inventory = devices.inventory
    assert (inventory.by_node, inventory.node_versions) == ({}, {})
    assert len(devices.pools._kept) <= LOOKED_THROUGH_FROM


def test_slices_that_are_deleted_and_made_anew_are_read_anew() -> None:
    inventory, where = Inventory(), node("a").build()
    index = PoolIndex(inventory, {"a"})
    for devices in (("gpu-0",), ("gpu-1",), ("gpu-1", "gpu-2"), ()):
        made = offered("a", *devices)
        inventory.put_slice(made)
        assert [each.device.id.device for each in index.of(where).candidates] == list(devices)
        inventory.remove_slice(made)
        inventory.put_slice(offered("a", "other"))
        inventory.remove_slice(made)
        inventory.put_slice(made)
        assert [each.device.id.device for each in index.of(where).candidates] == list(devices)
        inventory.remove_slice(made)
        assert index.of(where).candidates == []
