"""What volume rules keep between attempts says the same as what they work out afresh."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter
from moorage.framework.verdicts import SKIP, Rejection
from moorage.plugins.node_volume_limits.plugin import NodeVolumeLimits
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_restrictions import VolumeRestrictions
from moorage.testing import node, pod

RULES = (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding())
NODES, CLAIMS, VOLUMES = "ab", "xyz", "pqr"
Change = Callable[[Cache], None]


def using(name: str, claims: list[str], disk: str) -> Any:
    volumes: list[dict[str, Any]] = [{"persistentVolumeClaim": {"claimName": c}} for c in claims]
    if disk:
        volumes.append({"awsElasticBlockStore": {"volumeID": f"vol-{disk}"}})
    return pod(name).with_spec(volumes=[{"name": f"v{i}", **v} for i, v in enumerate(volumes)])


def put_claim(name: str, class_name: str, volume: str, mode: str) -> Change:
    meta: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    spec = {"accessModes": [mode], "storageClassName": class_name}
    if volume:
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = volume
    claim = decode_as({"metadata": meta, "spec": spec}, PersistentVolumeClaim)
    return lambda cache: cache.objects.put(claim)


def put_volume(name: str, handle: str, at: str, kept_for: str) -> Change:
    spec: dict[str, Any] = {"csi": {"driver": "csi.x", "volumeHandle": handle}}
    spec |= {"storageClassName": "local", "accessModes": ["ReadWriteOnce"]}
    if at:
        on = {"key": "kubernetes.io/hostname", "operator": "In", "values": [at]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [on]}]}
        spec["nodeAffinity"] = {"required": required}
    if kept_for:
        spec["claimRef"] = {"namespace": "default", "name": kept_for}
    raw = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}
    volume = decode_as(raw, PersistentVolume)
    return lambda cache: cache.objects.put(volume)


def put_csi_node(name: str, limit: int | None) -> Change:
    driver = {"name": "csi.x", "allocatable": None if limit is None else {"count": limit}}
    found = decode_as({"metadata": {"name": name}, "spec": {"drivers": [driver]}}, CSINode)
    return lambda cache: cache.objects.put(found)


def attach(name: str, volume: str, to: str) -> Change:
    spec = {"attacher": "csi.x", "nodeName": to, "source": {"persistentVolumeName": volume}}
    found = decode_as({"metadata": {"name": name}, "spec": spec}, VolumeAttachment)
    return lambda cache: cache.objects.put(found)


def put_pod(name: str, on: str, claims: list[str], disk: str) -> Change:
    there = using(name, claims, disk).on(on).build()
    return lambda cache: cache.put_pod(there)


def remove_pod(name: str) -> Change:
    def change(cache: Cache) -> None:
        cache.remove_pod(f"default/{name}")

    return change


def remove(kind: type[Any], name: str) -> Change:
    gone = decode_as({"metadata": {"name": name}}, kind)
    return lambda cache: cache.objects.remove(gone)


def put_node(name: str) -> Change:
    return lambda cache: cache.put_node(node(name).build())


def remove_node(name: str) -> Change:
    return lambda cache: cache.remove_node(node(name).build())


def one_of(letters: str) -> st.SearchStrategy[str]:
    return st.sampled_from(list(letters))


maybe_volume = st.sampled_from(["", *VOLUMES])
some_claims = st.lists(one_of(CLAIMS), max_size=2)
disks = st.sampled_from(["", "1"])
classes = st.sampled_from(["fast", "local", "local"])
modes = st.sampled_from(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"])
changes = st.one_of(
    st.builds(put_claim, one_of(CLAIMS), classes, maybe_volume, modes),
    st.builds(
        put_volume,
        one_of(VOLUMES),
        one_of("hk"),
        st.sampled_from(["", *NODES]),
        st.sampled_from(["", *CLAIMS]),
    ),
    st.builds(put_csi_node, one_of(NODES), st.none() | st.integers(0, 2)),
    st.builds(attach, one_of("tu"), one_of(VOLUMES), one_of(NODES)),
    st.builds(put_pod, one_of("mno"), one_of(NODES), some_claims, disks),
    st.builds(remove_pod, one_of("mno")),
    st.builds(remove, st.just(PersistentVolume), one_of(VOLUMES)),
    st.builds(remove, st.just(VolumeAttachment), one_of("tu")),
    st.builds(remove, st.just(CSINode), one_of(NODES)),
    st.builds(put_node, one_of(NODES)),
    st.builds(remove_node, one_of(NODES)),
)


def verdicts(cache: Cache, rule: Any, wanted: Any, shared: dict[str, Any]) -> Any:
    cycle = Cycle(cache, cache.info(wanted), shared=shared)
    answer = rule.pre_filter(cycle, cycle.pod)
    if answer is SKIP or isinstance(answer, Rejection):
        return answer
    assert isinstance(rule, Filter)
    out = np.zeros(cache.table.rows, dtype=np.int32)
    rule.filter_all(cycle, cycle.pod, Nodes.all(cache.table), out)
    return {
        name: rule.rejection(cycle, cycle.pod, int(out[row])) if out[row] else None
        for name, row in cache.table.row_of.items()
    }


def start() -> Cache:
    """Two nodes with room for one volume each, and three claims, one of them bound."""
    cache = Cache()
    for name, by in (("fast", "csi.x"), ("local", "kubernetes.io/no-provisioner")):
        raw = {"metadata": {"name": name}, "provisioner": by}
        waits = {**raw, "volumeBindingMode": "WaitForFirstConsumer"}
        cache.objects.put(decode_as(waits, StorageClass))
    for name in NODES:
        put_node(name)(cache)
        put_csi_node(name, 1)(cache)
    put_volume("p", "h", "", "x")(cache)
    put_claim("x", "local", "p", "ReadWriteOnce")(cache)
    put_claim("y", "local", "", "ReadWriteOnce")(cache)
    put_claim("z", "fast", "", "ReadWriteOnce")(cache)
    return cache


@given(st.lists(changes, min_size=3, max_size=25), some_claims, disks)
def test_after_any_changes(steps: list[Change], claims: list[str], disk: str) -> None:
    cache = start()
    kept: dict[str, Any] = {}
    wanted = using("new", claims, disk).build()
    for step in steps:
        step(cache)
        for rule in RULES:
            assert verdicts(cache, rule, wanted, kept) == verdicts(cache, rule, wanted, {})
