"""Every suggested change lets the pod in; a little less of it does not."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.explain import json_patch
from moorage.explain.change import Change, Objects
from moorage.explain.explanation import explain
from moorage.explain.world import World
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

ZONES = ("a", "b")
cores = st.integers(1, 6)


@st.composite
def nodes(draw: st.DrawFn) -> list[NodeBuilder]:
    made = []
    for index in range(draw(st.integers(1, 5))):
        built = node(f"n{index}").offering(cpu=str(draw(cores)), memory=f"{draw(cores)}Gi")
        built = built.in_zone(draw(st.sampled_from(ZONES)))
        if draw(st.booleans()):
            built = built.labelled(disk=draw(st.sampled_from(("ssd", "hdd"))))
        if draw(st.integers(0, 2)) == 0:
            built = built.tainted("dedicated", draw(st.sampled_from(("gpu", "db"))))
        made.append(built)
    return made


@st.composite
def running(draw: st.DrawFn, count: int) -> list[PodBuilder]:
    made = []
    for index in range(draw(st.integers(0, 6))):
        built = pod(f"r{index}").requesting(cpu=str(draw(st.integers(1, 2))))
        built = built.labelled(app=draw(st.sampled_from(("web", "db"))))
        made.append(built.on(f"n{draw(st.integers(0, count - 1))}"))
    return made


@st.composite
def incoming(draw: st.DrawFn) -> PodBuilder:
    built = pod("p").requesting(cpu=str(draw(cores)), memory=f"{draw(cores)}Gi")
    built = built.labelled(app="web")
    if draw(st.booleans()):
        built = built.selecting(disk=draw(st.sampled_from(("ssd", "hdd", "nvme"))))
    spec: dict[str, Any] = {}
    if draw(st.integers(0, 2)) == 0:
        key = draw(st.sampled_from(("topology.kubernetes.io/zone", "kubernetes.io/hostname")))
        term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {draw(st.sampled_from(("podAffinity", "podAntiAffinity"))): required}
    if draw(st.integers(0, 2)) == 0:
        spec["topologySpreadConstraints"] = [
            {
                "topologyKey": "topology.kubernetes.io/zone",
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    return built.with_spec(**spec) if spec else built


def world_of(cluster: Cluster) -> World:
    return World(cluster.cache, {"default-scheduler": cluster.profile})


def applied(cluster: Cluster, raw: dict[str, Any], change: Change) -> bool:
    """Whether the pod fits once a change was made, on a copy that knows nothing of the search."""
    world = world_of(cluster)
    if not isinstance(change.patch, Objects):
        return world.fits(decode_as(json_patch.apply(raw, change.patch), Pod))
    with cluster.cache.trial():
        for added in change.patch.add:
            cluster.cache.put_node(decode_as(added, Node))
        for gone in change.patch.delete:
            found = [i for _, i in cluster.cache.pods() if i.pod.name == gone["name"]]
            cluster.cache.displace(found[0])
        return world.fits(decode_as(raw, Pod))


@given(st.data())
def test_each_change_lets_the_pod_in_and_nothing_less_does(data: st.DataObject) -> None:
    made = data.draw(nodes())
    cluster = Cluster(*made, *data.draw(running(len(made))))
    raw = copy.deepcopy(data.draw(incoming()).raw)
    told = explain(world_of(cluster), raw)
    if told.message.startswith("it fits"):
        return

    for change in told.changes:
        assert applied(cluster, raw, change), change.summary
        if change.kind == "request" and not change.kinds and not isinstance(change.patch, Objects):
            step = change.patch[0]
            resource = step["path"].rsplit("/", 1)[1]
            more = {"cpu": "m", "memory": ""}[resource]
            value = step["value"]
            pod_ = decode_as(json_patch.apply(raw, change.patch), Pod)
            amounts = dict(cluster.cache.info(pod_).requests)
            index = cluster.cache.table.resources.find(resource)
            assert index is not None
            larger = [{**step, "value": f"{amounts.get(index, 0) + 1}{more}"}]
            fits = world_of(cluster).fits(decode_as(json_patch.apply(raw, larger), Pod))
            assert not fits, f"{value} is not the most of {resource} that fits"


@given(st.data())
def test_where_one_change_is_enough_one_is_suggested(data: st.DataObject) -> None:
    """Brute force: whoever fits without its selector, or tolerating everything, is told so."""
    made = data.draw(nodes())
    cluster = Cluster(*made, *data.draw(running(len(made))))
    raw = copy.deepcopy(data.draw(incoming()).raw)
    world = world_of(cluster)
    if world.fits(decode_as(raw, Pod)):
        return
    told = explain(world, raw, most=50)

    single = {change.kind for change in told.changes if not change.kinds}
    bare = {**raw, "spec": {k: v for k, v in raw["spec"].items() if k != "nodeSelector"}}
    if "nodeSelector" in raw["spec"] and world.fits(decode_as(bare, Pod)):
        assert "selector" in single
    everything = [{"operator": "Exists"}]
    tolerant = {**raw, "spec": {**raw["spec"], "tolerations": everything}}
    if world.fits(decode_as(tolerant, Pod)):
        assert any("toleration" in (change.kinds or (change.kind,)) for change in told.changes)
