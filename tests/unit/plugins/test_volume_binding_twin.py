"""The search over all nodes at once finds what a loop over nodes, claims and volumes finds."""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_binding.volume_search import BIND_CONFLICT, NOT_ENOUGH_SPACE
from moorage.testing import node, pod

NODES = {"a": "x", "b": "x", "c": "y"}
"""Names and zones."""


class Volume(NamedTuple):
    """A volume in the twin's words; `hosts` and `zone` are where it can be reached from."""

    size: int
    storage_class: str
    hosts: tuple[str, ...] | None
    zone: str | None
    kept_for: int | None
    is_available: bool

    def is_near(self, name: str) -> bool:
        on_host = self.hosts is None or name in self.hosts
        return on_host and (self.zone is None or NODES[name] == self.zone)


class Claim(NamedTuple):
    """A claim in the twin's words."""

    size: int
    storage_class: str
    given: str | None


class World(NamedTuple):
    """What there is; `pools` by host, None where nobody keeps account."""

    volumes: list[Volume]
    claims: list[Claim]
    zone_of_fast: str | None
    pools: dict[str, int] | None


hosts = st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True).map(tuple)
classes = st.sampled_from(["local", "fast"])
worlds = st.builds(
    World,
    st.lists(
        st.builds(
            Volume,
            st.integers(1, 4),
            classes,
            st.none() | hosts,
            st.none() | st.sampled_from("xy"),
            st.none() | st.integers(0, 2),
            st.booleans(),
        ),
        max_size=7,
    ),
    st.lists(
        st.builds(Claim, st.integers(1, 4), classes, st.none() | st.sampled_from(["a", "gone"])),
        min_size=1,
        max_size=3,
    ),
    st.none() | st.sampled_from("xy"),
    st.none() | st.dictionaries(st.sampled_from("abc"), st.integers(1, 4)),
)


def loop(world: World, name: str) -> tuple[int, list[str]]:
    """One node's code and the volumes it takes, claim after claim."""
    given = [claim for claim in world.claims if claim.given]
    if any(claim.given != name for claim in given):
        return BIND_CONFLICT, []
    taken: list[int] = []
    unmet = list(given)
    for number, claim in sorted(enumerate(world.claims), key=lambda each: each[1].size):
        if claim.given:
            continue
        found = match(world, name, number, claim, taken)
        if found is None:
            unmet.append(claim)
        else:
            taken.append(found)
    return provision(world, name, unmet), [f"v{found}" for found in taken]


def match(world: World, name: str, number: int, claim: Claim, taken: list[int]) -> int | None:
    best: int | None = None
    for position, volume in enumerate(world.volumes):
        suits = volume.size >= claim.size and volume.storage_class == claim.storage_class
        if position in taken or not suits:
            continue
        if volume.kept_for == number:
            return position if volume.is_near(name) else None
        if volume.kept_for is not None or not volume.is_available or not volume.is_near(name):
            continue
        if best is None or volume.size < world.volumes[best].size:
            best = position
    return best


def provision(world: World, name: str, unmet: list[Claim]) -> int:
    for claim in unmet:
        if claim.storage_class == "local":
            return BIND_CONFLICT
        if world.zone_of_fast is not None and NODES[name] != world.zone_of_fast:
            return BIND_CONFLICT
        if world.pools is not None and world.pools.get(name, 0) < claim.size:
            return NOT_ENOUGH_SPACE
    return 0


def build(world: World) -> Cache:
    cache = Cache()
    for name, where in NODES.items():
        cache.put_node(node(name).in_zone(where).build())
    for number, volume in enumerate(world.volumes):
        cache.objects.put(_volume(number, volume))
    for number, claim in enumerate(world.claims):
        cache.objects.put(_claim(number, claim))
    wait = {"volumeBindingMode": "WaitForFirstConsumer"}
    local = {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", **wait}
    fast: dict[str, Any] = {"metadata": {"name": "fast"}, "provisioner": "csi.x", **wait}
    if world.zone_of_fast is not None:
        zone = {"key": "topology.kubernetes.io/zone", "values": [world.zone_of_fast]}
        fast["allowedTopologies"] = [{"matchLabelExpressions": [zone]}]
    cache.objects.put(decode_as(local, StorageClass))
    cache.objects.put(decode_as(fast, StorageClass))
    spec = {"storageCapacity": world.pools is not None}
    cache.objects.put(decode_as({"metadata": {"name": "csi.x"}, "spec": spec}, CSIDriver))
    for name, size in (world.pools or {}).items():
        topology = {"matchLabels": {"kubernetes.io/hostname": name}}
        meta = {"name": name, "namespace": "kube-system"}
        raw = {"metadata": meta, "storageClassName": "fast", "nodeTopology": topology}
        cache.objects.put(decode_as({**raw, "capacity": f"{size}Gi"}, CSIStorageCapacity))
    return cache


def _volume(number: int, volume: Volume) -> PersistentVolume:
    expressions = []
    if volume.hosts is not None:
        key = "kubernetes.io/hostname"
        expressions.append({"key": key, "operator": "In", "values": volume.hosts})
    if volume.zone is not None:
        key = "topology.kubernetes.io/zone"
        expressions.append({"key": key, "operator": "In", "values": [volume.zone]})
    spec: dict[str, Any] = {
        "capacity": {"storage": f"{volume.size}Gi"},
        "storageClassName": volume.storage_class,
    }
    if expressions:
        required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        spec["nodeAffinity"] = {"required": required}
    if volume.kept_for is not None:
        spec["claimRef"] = {"namespace": "default", "name": f"c{volume.kept_for}"}
    phase = "Available" if volume.is_available else "Released"
    raw = {"metadata": {"name": f"v{number}"}, "spec": spec, "status": {"phase": phase}}
    return decode_as(raw, PersistentVolume)


def _claim(number: int, claim: Claim) -> PersistentVolumeClaim:
    selected = {"volume.kubernetes.io/selected-node": claim.given} if claim.given else {}
    meta = {"name": f"c{number}", "namespace": "default", "annotations": selected}
    requests = {"requests": {"storage": f"{claim.size}Gi"}}
    spec = {"storageClassName": claim.storage_class, "resources": requests}
    return decode_as({"metadata": meta, "spec": spec}, PersistentVolumeClaim)


@given(worlds)
def test_every_node_is_judged_as_the_loop_judges_it(world: World) -> None:
    volumes = [
        {"name": f"w{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}}
        for i in range(len(world.claims))
    ]
    cache = build(world)
    incoming = cache.info(pod("web").with_spec(volumes=volumes).build())
    cycle = Cycle(cache, incoming)
    VolumeBinding().pre_filter(cycle, cycle.pod)
    search = cycle.state["VolumeBinding"].search

    found = search.run(cycle, Nodes.all(cycle.table))

    for name, row in cycle.table.row_of.items():
        code, taken = loop(world, name)
        names = [
            search.candidates.shelved[n[row]].volume.name for _, n in found.taken if n[row] >= 0
        ]
        assert int(found.codes[row]) == code
        if not code:
            assert names == taken
