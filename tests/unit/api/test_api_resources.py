"""Requests and allocatable come out as in kube-scheduler's NodeInfo."""

from typing import Any

import msgspec
import pytest

from moorage.api import resource_amounts
from moorage.api.node import Node
from moorage.api.pod import Pod

MI = 1 << 20
DEFAULT = 200 * MI


def container(name: str = "c", restart: str | None = None, **requests: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): text for key, text in requests.items()}
    return {"name": name, "resources": {"requests": named}, "restartPolicy": restart}


def sidecar(name: str = "s", **requests: str) -> dict[str, Any]:
    return container(name, "Always", **requests)


def pod(*containers: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    raw = {"spec": {"containers": containers, **spec}, "status": status or {}}
    return msgspec.convert(raw, Pod)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(pod(), {}, id="no containers request nothing"),
        pytest.param(pod(container()), {}, id="a container without requests requests nothing"),
        pytest.param(
            pod(container(cpu="500m", memory="1Gi")), {"cpu": 500, "memory": 1 << 30},
            id="cpu is in millicores and memory in bytes",
        ),
        pytest.param(
            pod(container(cpu="1"), container(cpu="250m", memory="1Mi")),
            {"cpu": 1250, "memory": MI}, id="containers add up",
        ),
        pytest.param(
            pod(container(cpu="1500u"), container(cpu="1500u")), {"cpu": 3},
            id="the sum is rounded, not its parts",
        ),
        pytest.param(
            pod(container(memory="1.5"), container(memory="1.5")), {"memory": 3},
            id="fractions of bytes add up before rounding",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container(cpu="3"), container(cpu="2")]),
            {"cpu": 3000}, id="the greediest init container counts where it exceeds the sum",
        ),
        pytest.param(
            pod(container(cpu="1"), container(cpu="3"), initContainers=[container(cpu="2")]),
            {"cpu": 4000}, id="the sum counts where no init container exceeds it",
        ),
        pytest.param(
            pod(container(cpu="4"), initContainers=[container(cpu="1", memory="1Mi")]),
            {"cpu": 4000, "memory": MI}, id="each resource is compared by itself",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[sidecar(cpu="2")]), {"cpu": 3000},
            id="sidecars run beside the containers",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[sidecar(cpu="2"), container(cpu="4")]),
            {"cpu": 6000}, id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container(cpu="4"), sidecar(cpu="2")]),
            {"cpu": 4000}, id="an init container does not run beside the sidecars after it",
        ),
        pytest.param(
            pod(container(cpu="1"), overhead={"cpu": "250m", "memory": "1Mi"}),
            {"cpu": 1250, "memory": MI}, id="overhead comes on top",
        ),
        pytest.param(
            pod(container(cpu="1", memory="1Mi"), resources={"requests": {"cpu": "3"}}),
            {"cpu": 3000, "memory": MI}, id="a pod-level request replaces the sum of its resource",
        ),
        pytest.param(
            pod(container(cpu="4"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1"}),
            {"cpu": 4000}, id="overhead comes on top of a pod-level request",
        ),
        pytest.param(
            pod(container(cpu="1"), resources={"limits": {"cpu": "3"}}), {"cpu": 1000},
            id="pod-level limits alone replace nothing",
        ),
        pytest.param(
            pod(container(), resources={"requests": {"hugepages-2Mi": "4Mi", "x.io/y": "1"}}),
            {"hugepages-2Mi": 4 * MI}, id="pod-level requests know cpu, memory and huge pages only",
        ),
        pytest.param(
            pod(container(ephemeral_storage="1Ki")), {"ephemeral-storage": 1024},
            id="ephemeral storage is counted",
        ),
        pytest.param(
            pod({"resources": {"requests": {"nvidia.com/gpu": "2", "hugepages-1Gi": "1Gi"}}}),
            {"nvidia.com/gpu": 2, "hugepages-1Gi": 1 << 30}, id="scalar resources are counted",
        ),
        pytest.param(
            pod(container(pods="5", storage="1Gi")), {}, id="names scheduling does not count go"
        ),
        pytest.param(
            pod(container(cpu="-500m"), container(cpu="1")), {"cpu": 500},
            id="negative requests are taken as they are",
        ),
        pytest.param(
            pod(container(memory="8Ei"), container(memory="8Ei")), {"memory": -2},
            id="sums beyond int64 wrap, as in Go",
        ),
    ],
)  # fmt: skip
def test_pod_requests(given: Pod, want: dict[str, int]) -> None:
    assert want == resource_amounts.pod_requests(given)
    assert want == given.requests


def status(
    *containers: dict[str, Any], condition: str | None = None, **pod_level: Any
) -> dict[str, Any]:
    conditions = [{"type": "PodResizePending", "reason": condition}] if condition else []
    return {"containerStatuses": containers, "conditions": conditions, **pod_level}


def allocated(cpu: str, name: str = "c") -> dict[str, Any]:
    return {"name": name, "allocatedResources": {"cpu": cpu}}


def actuated(cpu: str, name: str = "c") -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            pod(container(cpu="1"), status=status(allocated("3"))), 3000,
            id="a shrinking container holds what is allocated",
        ),
        pytest.param(
            pod(container(cpu="1"), status=status(actuated("2"))), 2000,
            id="a shrinking container holds what is in force",
        ),
        pytest.param(
            pod(container(cpu="4"), status=status(allocated("3"))), 4000,
            id="a growing container counts as it asks",
        ),
        pytest.param(
            pod(container(cpu="4"), status=status(allocated("3"), condition="Deferred")), 4000,
            id="a deferred resize still counts as asked",
        ),
        pytest.param(
            pod(container(cpu="4"), status=status(allocated("3"), condition="Infeasible")), 3000,
            id="an infeasible resize counts as allocated",
        ),
        pytest.param(
            pod(container(cpu="4"), status=status(condition="Infeasible")), 0,
            id="an infeasible resize without an allocation counts nothing",
        ),
        pytest.param(
            pod(container(cpu="1"), container("b", cpu="1"), status=status(allocated("3"))),
            4000, id="a container without status counts as it asks",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                initContainers=[sidecar(cpu="1")],
                status={"initContainerStatuses": [allocated("5", "s")]},
            ),
            6000, id="sidecars are resized too",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                status=status(
                    allocated("9"),
                    allocatedResources={"cpu": "2"},
                    resources={"requests": {"cpu": "3"}},
                ),
            ),
            3000, id="the pod's own status replaces that of its containers",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "2"}},
                status=status(
                    allocatedResources={"cpu": "5"}, resources={"requests": {"cpu": "4"}}
                ),
            ),
            5000, id="a pod-level request counts at its greatest",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "9"}},
                status=status(
                    condition="Infeasible",
                    allocatedResources={"cpu": "5"},
                    resources={"requests": {"cpu": "4"}},
                ),
            ),
            5000, id="an infeasible pod-level resize counts as allocated",
        ),
    ],
)  # fmt: skip
def test_resizes_in_place(given: Pod, want: int) -> None:
    assert want == resource_amounts.pod_requests(given).get("cpu", 0)


def test_the_pod_to_be_placed_counts_by_its_spec_alone() -> None:
    resized = pod(container(cpu="1"), status=status(allocated("3")))

    assert resource_amounts.pod_requests(resized, use_status=False) == {"cpu": 1000}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(pod(), (0, 0), id="no containers, no defaults"),
        pytest.param(pod(container()), (100, DEFAULT), id="a container without requests"),
        pytest.param(pod(container(), container()), (200, 2 * DEFAULT), id="each container"),
        pytest.param(pod(container(cpu="0")), (0, DEFAULT), id="an explicit zero is a request"),
        pytest.param(
            pod(container(cpu="1"), container(memory="1Mi")), (1100, DEFAULT + MI),
            id="defaults fill what each container leaves out",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container(memory="1Gi")]),
            (1000, 1 << 30), id="init containers are filled too",
        ),
        pytest.param(
            pod(container(), overhead={"cpu": "50m"}), (150, DEFAULT), id="overhead on top"
        ),
        pytest.param(
            pod(container(), resources={"requests": {"cpu": "2"}}), (2000, DEFAULT),
            id="with a pod-level request, defaults fill what nobody asks for",
        ),
        pytest.param(
            pod(container(memory="1Mi"), container(), resources={"requests": {"cpu": "2"}}),
            (2000, MI), id="with a pod-level request, one container's request suffices",
        ),
        pytest.param(
            pod(container(), resources={"requests": {"cpu": "2", "memory": "1Mi"}}),
            (2000, MI), id="pod-level requests leave nothing to fill",
        ),
    ],
)  # fmt: skip
def test_pod_nonzero_requests(given: Pod, want: tuple[int, int]) -> None:
    assert want == resource_amounts.pod_nonzero_requests(given)


def test_scorers_fill_every_container_even_with_pod_level_requests() -> None:
    given = pod(container(memory="1Mi"), container(), resources={"requests": {"cpu": "2"}})

    assert resource_amounts.pod_scoring_requests(given) == {"cpu": 2000, "memory": MI + DEFAULT}


def test_node_allocatable_keeps_what_scheduling_counts() -> None:
    allocatable = {
        "cpu": "3920m",
        "memory": "15Gi",
        "pods": "110",
        "ephemeral-storage": "94Gi",
        "hugepages-2Mi": "0",
        "nvidia.com/gpu": "8",
        "attachable-volumes-csi-x": "39",
        "kubernetes.io/special": "1",
        "storage": "1Ti",
        "requests.example.com/x": "1",
        "example.com/": "1",
    }
    node = msgspec.convert({"status": {"allocatable": allocatable}}, Node)

    assert resource_amounts.node_allocatable(node) == {
        "cpu": 3920,
        "memory": 15 << 30,
        "pods": 110,
        "ephemeral-storage": 94 << 30,
        "hugepages-2Mi": 0,
        "nvidia.com/gpu": 8,
        "attachable-volumes-csi-x": 39,
        "kubernetes.io/special": 1,
    }


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("nvidia.com/gpu", True, id="an extended resource"),
        pytest.param("hugepages-2Mi", True, id="huge pages"),
        pytest.param("attachable-volumes-aws-ebs", True, id="attachable volumes"),
        pytest.param("kubernetes.io/batch-cpu", True, id="a prefixed native resource"),
        pytest.param("node.kubernetes.io/x", True, id="a subdomain of kubernetes.io"),
        pytest.param("gpu", False, id="a name without a domain"),
        pytest.param("cpu", False, id="cpu, which is counted by itself"),
        pytest.param("requests.nvidia.com/gpu", False, id="a quota's name"),
        pytest.param("nvidia.com/", False, id="a domain without a name"),
        pytest.param("NVIDIA.com/gpu", False, id="a domain in capitals"),
        pytest.param("a.com/b/c", False, id="a name of three parts"),
        pytest.param(f"{'d' * 245}/gpu", False, id="a domain too long for a quota"),
        pytest.param(f"a.com/{'g' * 64}", False, id="a name too long"),
    ],
)
def test_is_scalar(name: str, want: bool) -> None:
    assert want is resource_amounts.is_scalar(name)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(pod(container(cpu="8", memory="1Ti")), {}, id="what is asked for at most"),
        pytest.param(pod(container(cpu="1Ei")), {"cpu": "1Ei"}, id="cpu is counted in millicores"),
        pytest.param(pod(container(memory="1Ei")), {}, id="memory is counted in bytes"),
        pytest.param(
            pod(container(memory="5E"), container(memory="5E")),
            {"memory": "10E"},
            id="containers together",
        ),
        pytest.param(pod(container(cpu="-1")), {"cpu": "-1"}, id="less than nothing"),
    ],
)
def test_requests_that_cannot_be_counted(given: Pod, want: dict[str, str]) -> None:
    assert resource_amounts.uncountable_requests(given) == want
