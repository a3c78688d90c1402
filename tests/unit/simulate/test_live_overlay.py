"""Files over a live cluster: what is in both is the file's, and it is said."""

import copy
from typing import Any

import pytest

from moorage.simulate.live_overlay import put_over
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]


def owned(kind: str, name: str, owner: tuple[str, str] | None, **spec: Any) -> Raw:
    owners = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    meta = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners}
    group = "v1" if kind in ("Pod", "Node") else "apps/v1"
    return {"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec}


def template(cpu: str, **more: Any) -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}
    return {"spec": {"containers": [container]}}


LIVE = [
    owned("Node", "n1", None),
    owned("Deployment", "web", None, template=template("1", imagePullPolicy="Always")),
    owned("ReplicaSet", "web-1", ("Deployment", "web")),
    owned("Pod", "web-1-a", ("ReplicaSet", "web-1"), nodeName="n1"),
    owned("Pod", "other", None),
]


def over(*files: Raw) -> tuple[list[Raw], list[str]]:
    said: list[str] = []
    live = [Manifest(copy.deepcopy(raw), "https://here", 1, i) for i, raw in enumerate(LIVE)]
    found = put_over(live, [Manifest(raw, "app.yaml", 1) for raw in files], said)
    return [each.raw for each in found], said


def names(raws: list[Raw]) -> list[str]:
    return [raw["metadata"]["name"] for raw in raws]


def test_what_is_in_files_alone_is_added_in_silence() -> None:
    found, said = over(owned("Pod", "new", None))

    assert (names(found), said) == ([*names(LIVE), "new"], [])


@pytest.mark.parametrize("cpu", ["1", 1])
def test_pods_stay_where_the_template_says_nothing_new(cpu: Any) -> None:
    file = owned("Deployment", "web", None, replicas=5, template=template(cpu))

    found, said = over(file)

    assert names(found) == ["n1", "web-1", "web-1-a", "other", "web"]
    assert found[-1] is file
    assert said == ["in the cluster and in files, taken from files: Deployment web"]


def test_what_a_changed_template_had_made_goes() -> None:
    found, said = over(owned("Deployment", "web", None, template=template("2")))

    assert names(found) == ["n1", "other", "web"]
    assert "Deployment web (its pods are made anew)" in said[0]


def test_many_are_counted() -> None:
    files = [copy.deepcopy(raw) for raw in LIVE] + [owned("Pod", "new", None)]

    found, said = over(*files[:1], *files)

    assert len(found) == len(files) + 1
    assert said == [
        "in the cluster and in files, taken from files: Node n1, Deployment web, "
        "ReplicaSet web-1, Pod web-1-a, Pod other"
    ]


@pytest.mark.parametrize("broken", [{"kind": "Pod"}, {"kind": "Pod", "metadata": "x"}, {}])
def test_what_is_broken_is_left_to_those_who_complain(broken: Raw) -> None:
    assert over(broken)[1] == []
