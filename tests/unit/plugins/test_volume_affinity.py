"""Where volumes can be reached from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decode import decode_as
from moorage.api.label_requirements import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, Requirement
from moorage.api.storage import PersistentVolume
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.plugins.volumes.volume_affinity import Reach, reach_mask, reach_of, reaches
from moorage.testing import Cluster, node

ON_A = {"key": "host", "operator": "In", "values": ["a"]}


def volume(*terms: dict[str, Any]) -> PersistentVolume:
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}}
    return decode_as({"metadata": {"name": "pv"}, "spec": spec}, PersistentVolume)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(PersistentVolume(), ["a", "b"], id="no affinity reaches every node"),
        pytest.param(volume({"matchExpressions": [ON_A]}), ["a"], id="labels narrow the reach"),
        pytest.param(volume(), [], id="affinity without terms reaches no node"),
        pytest.param(volume({}), [], id="an empty term holds nowhere"),
        pytest.param(
            volume({"matchFields": [{**ON_A, "key": "metadata.name"}]}),
            ["a", "b"],
            id="fields hold anywhere, since volumes know labels only",
        ),
        pytest.param(
            volume({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}),
            [],
            id="a malformed field spoils its term",
        ),
        pytest.param(
            volume(
                {"matchExpressions": [{**ON_A, "operator": "Like"}]}, {"matchExpressions": [ON_A]}
            ),
            ["a"],
            id="a malformed term does not spoil the others",
        ),
    ],
)
def test_reach(found: PersistentVolume, want: list[str]) -> None:
    cluster = Cluster(node("a").labelled(host="a"), node("b").labelled(host="b"))
    within = reach_mask(reach_of(found), Nodes.all(cluster.cache.table))

    assert [name for name, row in cluster.cache.table.row_of.items() if within[row]] == want


values = st.lists(st.sampled_from(["1", "2", "x"]), min_size=1, max_size=2, unique=True).map(tuple)
requirements = st.one_of(
    st.builds(Requirement, st.sampled_from("kl"), st.sampled_from([IN, NOT_IN]), values),
    st.builds(Requirement, st.sampled_from("kl"), st.sampled_from([EXISTS, DOES_NOT_EXIST])),
    st.builds(Requirement, st.just("k"), st.sampled_from([GT, LT]), st.just(("1",))),
)
terms = st.lists(requirements, max_size=2).map(tuple)
found_reaches = st.none() | st.lists(terms, max_size=2).map(tuple)
labels = st.dictionaries(st.sampled_from("kl"), st.sampled_from(["1", "2", "x"]))


@given(found_reaches, st.lists(labels, min_size=1, max_size=4))
def test_all_nodes_at_once_are_judged_as_each_alone(
    reach: Reach, labelled: list[dict[str, str]]
) -> None:
    cache = Cache()
    for number, each in enumerate(labelled):
        cache.put_node(node(f"n{number}").labelled(each).build())

    within = reach_mask(reach, Nodes.all(cache.table))

    assert within.tolist() == [reaches(reach, each) for each in labelled]
