"""Decoding takes what Kubernetes takes, and says where and why it cannot."""

import datetime
import json
from typing import Any

import msgspec
import pytest

from moorage.api.decode import DecodeError, decode_as, decode_object, kind_of
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.api.storage import CSIStorageCapacity

NAMED = {"metadata": {"name": "web", "namespace": "shop"}}


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def asking(**requests: Any) -> dict[str, Any]:
    return {**NAMED, "spec": {"containers": [{"resources": {"requests": requests}}]}}


def requests_of(pod: Pod) -> dict[str, str]:
    return pod.spec.containers[0].resources.requests


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda raw: raw, id="data"),
        pytest.param(json.dumps, id="text"),
        pytest.param(lambda raw: json.dumps(raw).encode(), id="bytes"),
        pytest.param(lambda raw: memoryview(json.dumps(raw).encode()), id="a view of bytes"),
        pytest.param(lambda raw: msgspec.Raw(json.dumps(raw).encode()), id="a raw message"),
    ],
)
def test_objects_decode_from(wrap: Any) -> None:
    assert decode_as(wrap(NAMED), Pod).key == "shop/web"
    assert decode_object(wrap(NAMED), "Pod") == decode_as(wrap(NAMED), Pod)
    assert decode_object(wrap({"apiVersion": "v1", "kind": "Pod", **NAMED})).key == "shop/web"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(None, id="a struct"),
        pytest.param({"tolerations": None, "containers": None}, id="a list"),
        pytest.param({"nodeSelector": None, "overhead": None}, id="a map"),
        pytest.param({"affinity": None, "priority": None}, id="an optional value"),
        pytest.param({"nodeName": None, "hostNetwork": None}, id="a string or a truth value"),
    ],
)
def test_null_is_absence_for(spec: Any) -> None:
    raw = {**NAMED, "spec": spec}

    assert decode_as(raw, Pod) == decode_as(NAMED, Pod)
    assert decode_as(json.dumps(raw), Pod) == decode_as(NAMED, Pod)


def test_null_inside_maps_is_empty() -> None:
    raw = {**asking(cpu=None), "metadata": {"labels": {"a": None}}}

    assert decode_as(raw, Pod).labels == {"a": ""}
    assert requests_of(decode_as(raw, Pod)) == {"cpu": "0"}


@pytest.mark.parametrize(
    ("number", "want"),
    [
        pytest.param(2, "2", id="a whole number"),
        pytest.param(1.5, "1.5", id="a fraction"),
        pytest.param(10**18, "1000000000000000000", id="a large number"),
    ],
)
def test_a_number_is_a_quantity(number: float, want: str) -> None:
    assert requests_of(decode_as(asking(cpu=number), Pod)) == {"cpu": want}
    assert requests_of(decode_as(json.dumps(asking(cpu=number)), Pod)) == {"cpu": want}


def test_a_number_is_a_quantity_outside_maps_too() -> None:
    assert decode_as({"capacity": 5}, CSIStorageCapacity).capacity == "5"


def test_timestamps_that_yaml_has_read_are_taken() -> None:
    moment = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
    raw = {
        "metadata": {"creationTimestamp": moment},
        "status": {"conditions": [{"type": "Ready", "lastTransitionTime": moment}]},
    }

    node = decode_as(raw, Node)

    assert node.metadata.creation_timestamp == moment
    assert node.status.conditions[0].last_transition_time == "2024-05-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(
            asking(cpu="1x"),
            "Pod shop/web: spec.containers[0].resources.requests.cpu: '1x' is not a quantity",
            id="a bad quantity",
        ),
        pytest.param(
            {**NAMED, "spec": {"overhead": {"memory": ""}}},
            "Pod shop/web: spec.overhead.memory: '' is not a quantity",
            id="an empty quantity",
        ),
        pytest.param(
            {**NAMED, "spec": {"initContainers": [{}, {"resources": {"limits": {"cpu": "1K"}}}]}},
            "Pod shop/web: spec.initContainers[1].resources.limits.cpu: '1K' is not a quantity",
            id="a bad limit of the second init container",
        ),
        pytest.param(
            {"metadata": {"name": "web", "labels": {"a": "x", "version": 2}}},
            "Pod web: metadata.labels.version: expected a string, got 2: put it in quotes",
            id="a number for a label",
        ),
        pytest.param(
            {"metadata": {"annotations": {"on": True}}},
            "Pod: metadata.annotations.on: expected a string, got true: put it in quotes",
            id="a truth value for an annotation",
        ),
        pytest.param(
            {"metadata": {"labels": {1: "x"}}},
            "Pod: metadata.labels: expected every key to be a string: put keys in quotes",
            id="a number for a key",
        ),
        pytest.param(
            {**NAMED, "spec": {"priority": "high"}},
            "Pod shop/web: spec.priority: expected a whole number, got a string",
            id="a string for a number",
        ),
        pytest.param(
            {**NAMED, "spec": {"affinity": {"podAffinity": {PREFERRED: [{"weight": 2**31}]}}}},
            f"Pod shop/web: spec.affinity.podAffinity.{PREFERRED}[0].weight: ",
            id="a weight that no int32 holds",
        ),
        pytest.param(
            {**NAMED, "spec": {"containers": {"name": "c"}}},
            "Pod shop/web: spec.containers: expected a list, got an object",
            id="an object for a list",
        ),
        pytest.param(
            asking(cpu=["1"]),
            "Pod shop/web: spec.containers[0].resources.requests.cpu: expected a string, got",
            id="a list for a quantity",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "yesterday"}},
            "Pod: metadata.creationTimestamp: invalid RFC3339",
            id="a bad timestamp",
        ),
        pytest.param(b"[]", "Pod: expected an object, got a list", id="no object at all"),
        pytest.param(b'{"metadata":', "Pod: Input data was truncated", id="half a document"),
        pytest.param(b'{"spec":{"priority":1.5', "Pod: Input data was truncated", id="both"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(raw: Any, want: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_object(raw, "Pod")

    assert str(caught.value).startswith(want)


def test_quantities_of_nodes_are_checked() -> None:
    with pytest.raises(DecodeError, match=r"^Node n1: status\.allocatable\.memory: 'lots'"):
        decode_as({"metadata": {"name": "n1"}, "status": {"allocatable": {"memory": "lots"}}}, Node)


def test_an_error_carries_its_parts() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_object(asking(cpu="1x"), "Pod")

    error = caught.value
    assert (error.kind, error.key) == ("Pod", "shop/web")
    assert error.path == "spec.containers[0].resources.requests.cpu"
    assert error.problem.startswith("'1x' is not a quantity")


def test_negative_quantities_are_refused_only_when_strict() -> None:
    raw = asking(cpu="-1")

    assert requests_of(decode_as(raw, Pod)) == {"cpu": "-1"}
    with pytest.raises(DecodeError, match=r"requests\.cpu: '-1' must not be negative"):
        decode_object(raw, "Pod", strict=True)


@pytest.mark.parametrize(
    ("api_version", "kind", "want"),
    [
        pytest.param("v1", "Pod", "Pod", id="the core group"),
        pytest.param("policy/v1beta1", "PodDisruptionBudget", "PodDisruptionBudget", id="versions"),
        pytest.param("scheduling.x-k8s.io/v1alpha1", "PodGroup", "PodGroup", id="one dialect"),
        pytest.param("scheduling.k8s.io/v1beta1", "PodGroup", "PodGroup", id="the other dialect"),
        pytest.param("serving.knative.dev/v1", "Service", None, id="another group's Service"),
        pytest.param("v1", "Secret", None, id="a kind scheduling does not read"),
        pytest.param("", "", None, id="no kind at all"),
    ],
)
def test_kind_of(api_version: str, kind: str, want: str | None) -> None:
    found = kind_of({"apiVersion": api_version, "kind": kind})

    assert want == (found.name if found else None)


def test_the_object_itself_may_say_its_kind() -> None:
    raw = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}

    assert decode_object({**raw, "spec": {"minMember": 2}}) == decode_as(
        {"spec": {"minMember": 2}}, PodGroup
    )


@pytest.mark.parametrize(
    ("raw", "kind", "want"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Secret"}, None, "Secret: kind: 'Secret' of 'v1' is not",
            id="a kind scheduling does not read",
        ),
        pytest.param({}, None, "kind: an object without a kind is not read", id="no kind"),
        pytest.param({}, "Secret", "Secret: no such kind is read: Pod, Node", id="a wrong name"),
        pytest.param({"kind": 5}, None, "object: kind: expected a string, got 5", id="a number"),
        pytest.param(b"{", None, "object: Input data was truncated", id="half a document"),
    ],
)  # fmt: skip
def test_kinds_that_are_not_read_are_refused(raw: Any, kind: str | None, want: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_object(raw, kind)

    assert str(caught.value).startswith(want)


def test_a_bad_quantity_is_found_inside_a_map_of_structs() -> None:
    devices = [{"name": "gpu", "capacity": {"memory": {"value": "1 Gi"}}}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    raw = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "pool": pool, "nodeName": "n", "devices": devices},
    }

    with pytest.raises(DecodeError, match=r"devices\[0\]\.capacity\.memory\.value: '1 Gi' is not"):
        decode_object(raw)
