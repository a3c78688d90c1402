"""Objects read under Kubernetes' names and answer what plugins ask of them."""

import datetime
import json
from typing import Any

import msgspec
import pytest

from moorage.api.kinds import KINDS, Kind
from moorage.api.meta import ApiStruct, KubeObject, ObjectMeta
from moorage.api.node import Node
from moorage.api.pod import Pod, PodSpec
from moorage.api.podgroup import PodGroup


def every_struct(struct: type[ApiStruct] = ApiStruct) -> list[type[ApiStruct]]:
    return [struct, *(found for sub in struct.__subclasses__() for found in every_struct(sub))]


ACRONYMS = ("Id", "Ip", "Uri", "Url", "Cidr", "Ids", "Ips")


def test_no_name_on_the_wire_ends_in_an_acronym_spelt_as_a_word() -> None:
    names = {f.encode_name for s in every_struct() for f in msgspec.structs.fields(s)}

    assert not [name for name in names if name.endswith(ACRONYMS)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_decodes_from_nothing_and_encodes_to_nothing(kind: Kind) -> None:
    empty = msgspec.json.decode(b"{}", type=kind.struct)

    assert msgspec.to_builtins(empty) == {}


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("Pod", {"spec": {"containers": [{"ports": [{"hostIP": "10.0.0.1", "hostPort": 80}]}]}}),
        ("Pod", {"spec": {"volumes": [{"azureDisk": {"diskURI": "a"}}]}}),
        ("Pod", {"spec": {"volumes": [{"awsElasticBlockStore": {"volumeID": "a"}}]}}),
        ("Pod", {"spec": {"volumes": [{"gcePersistentDisk": {"pdName": "a", "readOnly": True}}]}}),
        ("Pod", {"spec": {"initContainers": [{"restartPolicyRules": [{"action": "Exit"}]}]}}),
        ("Pod", {"spec": {"volumes": [{"image": {"reference": "busybox"}}]}}),
        ("Pod", {"status": {"hostIP": "10.0.0.1", "podIP": "10.0.0.2"}}),
        ("Node", {"spec": {"providerID": "aws:///a/i-1", "unschedulable": True}}),
        ("Service", {"spec": {"clusterIP": "None", "selector": {"app": "web"}}}),
        ("CSINode", {"spec": {"drivers": [{"name": "ebs", "nodeID": "i-1"}]}}),
        ("PersistentVolume", {"spec": {"csi": {"driver": "ebs", "volumeHandle": "v"}}}),
        ("PodDisruptionBudget", {"spec": {"minAvailable": "50%", "maxUnavailable": 1}}),
    ],
    ids=lambda param: param if isinstance(param, str) else json.dumps(param),
)
def test_names_on_the_wire_are_those_of_kubernetes(kind: str, raw: dict[str, Any]) -> None:
    read = msgspec.convert(raw, KINDS[kind].struct)

    assert raw == json.loads(msgspec.json.encode(read))


def test_unknown_fields_are_ignored() -> None:
    raw = b'{"spec":{"dnsPolicy":"ClusterFirst","nodeName":"n1"},"future":{"x":[1]}}'

    assert msgspec.json.decode(raw, type=Pod) == Pod(spec=PodSpec(node_name="n1"))


def test_objects_cannot_be_changed() -> None:
    pod = Pod()

    with pytest.raises(AttributeError):
        pod.spec = PodSpec(node_name="n1")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("meta", "want"),
    [
        pytest.param(ObjectMeta(name="web", namespace="shop"), "shop/web", id="namespaced"),
        pytest.param(ObjectMeta(name="n1"), "n1", id="cluster-wide"),
    ],
)
def test_key(meta: ObjectMeta, want: str) -> None:
    assert want == KubeObject(metadata=meta).key


def test_metadata_is_at_hand() -> None:
    meta = ObjectMeta(
        name="web", namespace="shop", uid="u1", labels={"a": "b"}, annotations={"c": "d"}
    )
    pod = Pod(metadata=meta)

    assert (pod.name, pod.namespace, pod.uid) == ("web", "shop", "u1")
    assert (pod.labels, pod.annotations) == ({"a": "b"}, {"c": "d"})


def pod(**raw: Any) -> Pod:
    return msgspec.convert(raw, Pod)


def test_priority_is_zero_where_none_is_set() -> None:
    assert pod().priority == 0
    assert pod(spec={"priority": 100}).priority == 100


def test_a_pod_with_a_deletion_timestamp_is_terminating() -> None:
    doomed = pod(metadata={"deletionTimestamp": "2024-05-01T10:00:00Z"})

    assert doomed.is_terminating
    assert not pod().is_terminating
    assert doomed.metadata.deletion_timestamp == datetime.datetime(
        2024, 5, 1, 10, tzinfo=datetime.UTC
    )


@pytest.mark.parametrize(
    ("phase", "want"),
    [("Succeeded", True), ("Failed", True), ("Running", False), ("Pending", False), ("", False)],
)
def test_a_pod_is_terminal_once_it_succeeded_or_failed(phase: str, want: bool) -> None:
    assert want is pod(status={"phase": phase}).is_terminal


def test_the_owner_is_the_controller() -> None:
    owners = [{"kind": "Job", "name": "j"}, {"kind": "ReplicaSet", "name": "r", "controller": True}]
    owner = pod(metadata={"ownerReferences": owners}).owner

    assert owner is not None
    assert owner.name == "r"
    assert pod(metadata={"ownerReferences": owners[:1]}).owner is None


def node(**labels: str) -> Node:
    return msgspec.convert({"metadata": {"labels": labels}}, Node)


STABLE = "topology.kubernetes.io"
BETA = "failure-domain.beta.kubernetes.io"


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param({}, ("", ""), id="an unlabelled node is nowhere"),
        pytest.param(
            {f"{STABLE}/zone": "z1", f"{STABLE}/region": "r1"}, ("z1", "r1"), id="topology labels"
        ),
        pytest.param(
            {f"{BETA}/zone": "z1", f"{BETA}/region": "r1"}, ("z1", "r1"), id="beta labels"
        ),
        pytest.param(
            {f"{STABLE}/zone": "z1", f"{BETA}/zone": "z2"}, ("z1", ""), id="topology labels win"
        ),
    ],
)
def test_zone_and_region(labels: dict[str, str], want: tuple[str, str]) -> None:
    assert want == (node(**labels).zone, node(**labels).region)


def test_taints_are_at_hand() -> None:
    tainted = msgspec.convert({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}, Node)

    assert [taint.key for taint in tainted.taints] == ["gpu"]


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"minMember": 3}, 3, id="minMember"),
        pytest.param({"schedulingPolicy": {"gang": {"minCount": 4}}}, 4, id="gang.minCount"),
        pytest.param({"schedulingPolicy": {"basic": {}}}, 0, id="a basic policy is no gang"),
    ],
)
def test_a_pod_group_reads_in_both_dialects(spec: dict[str, Any], want: int) -> None:
    assert want == msgspec.convert({"spec": spec}, PodGroup).min_count
