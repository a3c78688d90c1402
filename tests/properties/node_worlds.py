"""Random clusters of nodes and pods, and what one plugin says of each node."""

import numpy as np
from hypothesis import strategies as st

from moorage import Filter, Nodes, Score
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_amounts import (
    pod_requests,
)
from moorage.framework.verdicts import Rejection
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

MEBI = 2**20

cores = st.sampled_from(["0", "1", "100m", "333m", "7", "64", "1000k"])
bytes_ = st.sampled_from(["0", "1", "64Mi", "3Gi", "100Gi", "69Ti", "70Ti", "71Ti", "80Pi"])
maybe = st.booleans()
KEYS = ("disk", "gen", "zone")
VALUES = ("ssd", "hdd", "3", "10", "-1", "")


@st.composite
def some_node(draw: st.DrawFn, name: str) -> NodeBuilder:
    built = node(name).offering(
        cpu=draw(cores), memory=draw(bytes_), pods=draw(st.sampled_from("012"))
    )
    if draw(maybe):
        built = built.offering({"example.com/gpu": draw(st.sampled_from(["0", "1", "8"]))})
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True)):
        built = built.labelled({key: draw(st.sampled_from(VALUES))})
    for effect in draw(
        st.lists(st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]), max_size=3)
    ):
        built = built.tainted(draw(st.sampled_from("kl")), draw(st.sampled_from("vw")), effect)
    for image in draw(st.lists(st.sampled_from(["a:v1", "b:latest", "c/d:v2"]), unique=True)):
        built = built.holding(image, draw(st.integers(0, 2000)) * MEBI)
    return built.cordoned() if draw(maybe) else built


@st.composite
def some_pod(draw: st.DrawFn, name: str) -> PodBuilder:
    asked = {"cpu": cores, "memory": bytes_}
    requests = {key: draw(amount) for key, amount in asked.items() if draw(maybe)}
    if draw(maybe):
        requests["example.com/gpu"] = draw(st.sampled_from(["0", "1", "2"]))
    built = pod(name).requesting(requests).using(draw(st.sampled_from(["a:v1", "b", "x"])))
    if draw(maybe):
        built = built.listening(
            draw(st.integers(80, 81)),
            draw(st.sampled_from(["TCP", "UDP"])),
            draw(st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"])),
        )
    return built


requirements = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    st.sampled_from(KEYS),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Bogus"]),
    st.lists(st.sampled_from(VALUES), max_size=2),
)
terms = st.builds(
    lambda labels, names: {
        "matchExpressions": labels,
        "matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [name]} for name in names
        ],
    },
    st.lists(requirements, max_size=2),
    st.lists(st.sampled_from(["n0", "n1", "gone"]), max_size=1),
)


@st.composite
def wishing_pod(draw: st.DrawFn, name: str) -> PodBuilder:
    built = draw(some_pod(name))
    for _ in range(draw(st.integers(0, 2))):
        value = draw(st.sampled_from([None, "v", "w"]))
        effect = draw(st.sampled_from(["", "NoSchedule", "PreferNoSchedule"]))
        built = built.tolerating(draw(st.sampled_from(["", "k", "l"])), value, effect)
    if draw(maybe):
        built = built.selecting({draw(st.sampled_from(KEYS)): draw(st.sampled_from(VALUES))})
    if draw(maybe):
        required = {"nodeSelectorTerms": draw(st.lists(terms, min_size=1, max_size=2))}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        built = built.with_spec(affinity={"nodeAffinity": affinity})
    return built.with_spec(nodeName=draw(st.sampled_from(["", "", "n1"])))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cluster, Pod]:
    names = [f"n{index}" for index in range(draw(st.integers(1, 4)))]
    cluster = Cluster(*(draw(some_node(name)) for name in names))
    for index in range(draw(st.integers(0, 5))):
        cluster.add(draw(some_pod(f"r{index}")).on(draw(st.sampled_from(names))))
    return cluster, draw(wishing_pod("incoming")).build()


def verdicts(cluster: Cluster, plugin: Filter, incoming: Pod) -> dict[str, Rejection | None]:
    cycle = cluster.cycle(incoming)
    nodes = Nodes.all(cluster.cache.table)
    out = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, incoming, nodes, out)
    one_by_one = []
    for row in range(nodes.count):
        single = np.zeros(1, dtype=np.int32)
        plugin.filter_all(cycle, incoming, Nodes.one(cluster.cache.table, row), single)
        one_by_one.append(int(single[0]))
    assert out.tolist() == one_by_one, "a row alone gets another verdict than among all"
    backwards = Nodes(cluster.cache.table, nodes.index[::-1].copy())
    again = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, incoming, backwards, again)
    assert again[::-1].tolist() == one_by_one, "some rows get other verdicts than among all"
    return {
        nodes.node(row).name: plugin.rejection(cycle, incoming, code) if code else None
        for row, code in enumerate(one_by_one)
    }


def scores(cluster: Cluster, plugin: Score, incoming: Pod) -> dict[str, int]:
    cycle = cluster.cycle(incoming)
    nodes = Nodes.all(cluster.cache.table)
    out = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, incoming, nodes, out)
    for row in range(nodes.count):
        single = np.zeros(1, dtype=np.int64)
        plugin.score_all(cycle, incoming, Nodes.one(cluster.cache.table, row), single)
        assert single[0] == out[row], "a row alone gets another score than among all"
    backwards = Nodes(cluster.cache.table, nodes.index[::-1].copy())
    again = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, incoming, backwards, again)
    assert again[::-1].tolist() == out.tolist(), "some rows get other scores than among all"
    return {nodes.node(row).name: int(out[row]) for row in range(nodes.count)}


def residents(cluster: Cluster, name: str) -> list[Pod]:
    table = cluster.cache.table
    return [info.pod for info in table.pods[table.row_of[name]].values()]


def every_node(cluster: Cluster) -> list[Node]:
    return [cluster.cache.table.node(row) for row in cluster.cache.table.row_of.values()]


def used(cluster: Cluster, name: str, resource: str) -> int:
    return sum(pod_requests(resident).get(resource, 0) for resident in residents(cluster, name))
