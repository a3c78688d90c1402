"""The rights to write are held to the fields that Moorage writes, by a real API server."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from moorage.policies.gpu.devices.annotations import DEVICES, GPU_INDEX
from tests.deploy.conftest import NAMESPACES, apply
from tests.deploy.tools import DEPLOY, Raw
from tests.integration.control_plane import KEPT, ControlPlane, Refused, ask
from tests.integration.harness import running, wait_for
from tests.integration.making import node, pod
from tests.integration.storage import ZONE, volume
from tests.integration.storage import claim as volume_claim
from tests.integration.test_claims import RESOURCE, claim, device_class
from tests.integration.test_gpus import PROFILES, box, gpu_pod

pytestmark = pytest.mark.kube

HERE = "/api/v1/namespaces/default"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
NODE_LOCKS = DEPLOY / "components" / "node-locks"
INVALID = 422
BOUND = "pv.kubernetes.io/bound-by-controller"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/main"
MASTER = "node-role.kubernetes.io/control-plane"
EXTENDED = {"resource.kubernetes.io/extended-resource-claim": "true"}

Send = Callable[[str, str, Raw | None], Raw]


@pytest.fixture(scope="module")
def send(cluster: ControlPlane, account: Path) -> Iterator[Send]:
    """Requests as the scheduler, which change nothing; it may lock nodes, too."""
    apply(cluster, "---\n".join((NODE_LOCKS / f"{name}.yaml").read_text() for name in FILES))
    made = claim("made")
    made["metadata"]["annotations"] = EXTENDED
    taken = volume("taken", "local", "here")
    taken["spec"]["claimRef"] = {"namespace": "default", "name": "data", "uid": "u-1"}
    web = pod("web")
    web["spec"]["containers"][0]["resources"]["limits"] = {RESOURCE: "1"}
    cluster.create(
        node("n1", labels={ZONE: "here"}),
        web,
        volume("disk", "local", "here"),
        taken,
        device_class(),
    )
    cluster.create(volume_claim("data", "local"), claim("theirs"), made)
    token = yaml.safe_load(account.read_text())["users"][0]["user"]["token"]

    def request(method: str, path: str, body: Raw | None) -> Raw:
        with contextlib.closing(cluster.connect()) as connection:
            answer: Raw = ask(connection, token, method, f"{path}?dryRun=All", body)
        return answer

    def holds(case: "tuple[str, str, Raw | None]") -> Callable[[], bool]:
        def check() -> bool:
            try:
                request(*case)
            except Refused as refused:
                return refused.status == INVALID
            return False

        return check

    try:
        for case in (CORDONED, RELABELLED):
            wait_for(holds(case), f"{case} is never denied")
        yield request
    finally:
        for name in FILES:
            for obj in yaml.safe_load_all((NODE_LOCKS / f"{name}.yaml").read_text()):
                group, plural = obj["apiVersion"], GONE[obj["kind"]]
                cluster.request("DELETE", f"/apis/{group}/{plural}/{obj['metadata']['name']}")
        cluster.clear(keep={*KEPT, *NAMESPACES})


FILES = ("role", "write-policy")
GONE = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def binding(**metadata: Raw) -> tuple[str, str, Raw]:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", "namespace": "default", **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    return "POST", f"{HERE}/pods/web/binding", body


def status(metadata: Raw | None = None, **fields: object) -> tuple[str, str, Raw]:
    return "PATCH", f"{HERE}/pods/web/status", {"metadata": metadata or {}, "status": fields}


def condition(kind: str) -> tuple[str, str, Raw]:
    return status(conditions=[{"type": kind, "status": "True"}])


def on_node(metadata: Raw, **spec: object) -> tuple[str, str, Raw]:
    return "PATCH", "/api/v1/nodes/n1", {"metadata": metadata, "spec": spec}


def on_volume(metadata: Raw, name: str = "disk", **spec: object) -> tuple[str, str, Raw]:
    return "PATCH", f"/api/v1/persistentvolumes/{name}", {"metadata": metadata, "spec": spec}


def on_volume_claim(metadata: Raw, **spec: object) -> tuple[str, str, Raw]:
    path = f"{HERE}/persistentvolumeclaims/data"
    return "PATCH", path, {"metadata": metadata, "spec": spec}


def on_claim(metadata: Raw) -> tuple[str, str, Raw]:
    return "PATCH", f"{CLAIMS}/theirs", {"metadata": metadata}


def new_claim(annotations: Raw) -> tuple[str, str, Raw]:
    made = claim("new")
    made["metadata"]["annotations"] = annotations
    return "POST", CLAIMS, made


REF = {"namespace": "default", "name": "data", "uid": "u-2"}
CORDONED = on_node({}, unschedulable=True)
RELABELLED = status({"labels": {"app": "bank"}})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(binding(), id="a pod is bound"),
        pytest.param(
            binding(
                annotations={
                    "moorage.io/gpu-devices": "0-3",
                    "alibabacloud.com/gpu-index": "0-3",
                    "hami.io/bind-phase": "allocating",
                }
            ),
            id="and told its devices",
        ),
        pytest.param(condition("PodScheduled"), id="a pod is told why it waits"),
        pytest.param(condition("DisruptionTarget"), id="a victim is told why it goes"),
        pytest.param(condition("schedulerLatency"), id="a pod is told how long it waited"),
        pytest.param(status(nominatedNodeName="n1"), id="a node is nominated"),
        pytest.param(
            status(
                extendedResourceClaimStatus={
                    "resourceClaimName": "made",
                    "requestMappings": [
                        {
                            "containerName": "main",
                            "resourceName": RESOURCE,
                            "requestName": "gpu",
                        }
                    ],
                }
            ),
            id="a pod is told its claim",
        ),
        pytest.param(
            on_volume(
                {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}, claimRef=REF
            ),
            id="a volume is bound",
        ),
        pytest.param(
            on_volume_claim({"annotations": {"volume.kubernetes.io/selected-node": "n1"}}),
            id="a node is selected for a volume",
        ),
        pytest.param(
            on_claim({"finalizers": ["resource.kubernetes.io/delete-protection"]}),
            id="a device claim is protected",
        ),
        pytest.param(new_claim(EXTENDED), id="a claim is made for an extended resource"),
        pytest.param(("DELETE", f"{CLAIMS}/made", None), id="and deleted"),
        pytest.param(
            on_node({"annotations": {"hami.io/mutex.lock": "2026-01-01T00:00:00Z,default,web"}}),
            id="a node is locked",
        ),
    ],
)
def test_it_writes_what_a_scheduler_writes(send: Send, case: tuple[str, str, Raw | None]) -> None:
    assert send(*case)["kind"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(binding(labels={"app": "bank"}), id="a label that a Service selects"),
        pytest.param(
            binding(annotations={APPARMOR: "unconfined"}),
            id="an annotation that frees a container",
        ),
        pytest.param(RELABELLED, id="a label, through the status"),
        pytest.param(status({"annotations": {"a": "b"}}), id="an annotation, through the status"),
        pytest.param(condition("Ready"), id="a pod that is called ready"),
        pytest.param(status(podIP="10.0.0.9"), id="an address that is another's"),
        pytest.param(status(phase="Failed"), id="a pod that is called failed"),
        pytest.param(on_volume({}, persistentVolumeReclaimPolicy="Delete"), id="data to be lost"),
        pytest.param(on_volume({}, mountOptions=["suid"]), id="a volume mounted otherwise"),
        pytest.param(on_volume({"labels": {"a": "b"}}), id="a volume's label"),
        pytest.param(on_volume({}, "taken", claimRef=REF), id="a volume taken from its claim"),
        pytest.param(
            on_volume({}, "taken", claimRef=None), id="a volume that is nobody's any more"
        ),
        pytest.param(on_volume_claim({}, volumeName="disk"), id="a claim's volume"),
        pytest.param(on_volume_claim({"annotations": {"a": "b"}}), id="a claim's annotation"),
        pytest.param(on_claim({"finalizers": ["example.com/never"]}), id="a claim kept for ever"),
        pytest.param(on_claim({"annotations": EXTENDED}), id="a claim that then may be deleted"),
        pytest.param(new_claim({}), id="a claim of its own"),
        pytest.param(("DELETE", f"{CLAIMS}/theirs", None), id="another's claim"),
        pytest.param(on_node({"labels": {MASTER: ""}}), id="a role"),
        pytest.param(on_node({"annotations": {"a": "b"}}), id="another annotation of a node"),
        pytest.param(CORDONED, id="a cordoned node"),
    ],
)
def test_it_writes_nothing_else(send: Send, case: tuple[str, str, Raw | None]) -> None:
    with pytest.raises(Refused, match="denied request: a scheduler") as refused:
        send(*case)

    assert refused.value.status == INVALID


@pytest.mark.parametrize(
    ("path", "change"),
    [
        pytest.param(
            f"{HERE}/pods/web",
            {"spec": {"containers": [{"name": "main", "image": "evil.example/backdoor"}]}},
            id="the image of a pod",
        ),
        pytest.param(
            f"{HERE}/pods/web", {"metadata": {"annotations": {"a": "b"}}}, id="its annotations"
        ),
        pytest.param("/api/v1/nodes/n1/status", {"status": {"phase": "Running"}}, id="a node's"),
    ],
)
def test_no_component_for_gpus_gives_the_right(send: Send, path: str, change: Raw) -> None:
    with pytest.raises(Refused) as refused:
        send("PATCH", path, change)

    assert refused.value.status == 403


def test_pods_get_their_devices_by_the_rights_of_the_base(
    cluster: ControlPlane, account: Path
) -> None:
    async def story() -> dict[str, Raw]:
        async with running(
            cluster, kubeconfig_file=account, agree=False, profiles=PROFILES
        ) as under_test:
            await under_test.create(box("gpus"), gpu_pod("share", 470), gpu_pod("whole", 1000))
            await under_test.placed("share", "whole")
            return await under_test.pods()

    try:
        found = asyncio.run(story())
    finally:
        cluster.clear(keep={*KEPT, *NAMESPACES})
    share, whole = (found[name]["metadata"]["annotations"] for name in ("share", "whole"))
    assert {share[DEVICES], whole[DEVICES]} == {share[GPU_INDEX], whole[GPU_INDEX]}
    assert share[DEVICES] != whole[DEVICES]
