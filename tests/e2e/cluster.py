"""A cluster for end-to-end specs: a control plane with controllers, kubelets, and a scheduler."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.integration.control_plane import START_SECONDS, ControlPlane
from tests.integration.harness import Replica, replica, wait_for

NODES: Final = 4
ZONES: Final = 2
GATES: Final = (
    "GenericWorkload",
    "TopologyAwareWorkloadScheduling",
    "PodGroupPreemptionPolicy",
)
"""Those of groups, which are off by default in v1.37."""
FEATURE_GATES: Final = "--feature-gates=" + ",".join(f"{gate}=true" for gate in GATES)
RUNTIME: Final = "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"
KUBELETS: Final = "--kubelet-preferred-address-types=InternalIP"
SCHEDULERS: Final = ("kube-scheduler", "moorage")
PROFILE: Final = {"schedulerName": "default-scheduler"}


@contextlib.contextmanager
def cluster(
    programs: Path, home: Path, scheduler: str, version: str, *, provision: bool = False
) -> Iterator[ControlPlane]:
    """Everything but the specs, with one of `SCHEDULERS` as default-scheduler."""
    home.mkdir(parents=True, exist_ok=True)
    flags = (FEATURE_GATES, RUNTIME, "--allow-privileged=true", KUBELETS)
    with contextlib.ExitStack() as running:
        plane = running.enter_context(ControlPlane(programs, home, *flags, without=()))
        _controllers(plane)
        plane.run(
            "fake-kubelet",
            f"--kubeconfig={plane.kubeconfig}",
            f"--nodes={NODES}",
            f"--zones={ZONES}",
            f"--version={version}",
            f"--provision={str(provision).lower()}",
        )
        wait_for(lambda: _nodes_are_ready(plane) or None, "not all nodes got ready", START_SECONDS)
        if scheduler == "moorage":
            file = plane.kubeconfig_of("moorage")
            made = running.enter_context(replica(home, "scheduler", file, profiles=[PROFILE]))
            running.callback(_still_runs, made)
        else:
            _kube_scheduler(plane)
        yield plane


def _nodes_are_ready(plane: ControlPlane) -> bool:
    """The specs look at the nodes once, before the first of them runs."""
    nodes = plane.request("GET", "/api/v1/nodes")["items"]
    ready = [
        node["metadata"]["name"]
        for node in nodes
        for condition in node["status"].get("conditions", ())
        if condition["type"] == "Ready" and condition["status"] == "True"
        if not node["spec"].get("taints")
    ]
    return len(ready) == NODES


def _still_runs(made: Replica) -> None:
    """Specs that failed because the scheduler had ended say nothing about scheduling."""
    if made.process.poll() is not None:
        raise RuntimeError(f"moorage run has ended: {made.said[-2000:]}")


def _controllers(plane: ControlPlane) -> None:
    plane.run(
        "kube-controller-manager",
        f"--kubeconfig={plane.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
        f"--service-account-private-key-file={plane.home / 'service-account.key'}",
        f"--root-ca-file={plane.ca_file}",
        FEATURE_GATES,
    )


def _kube_scheduler(plane: ControlPlane) -> None:
    file = plane.kubeconfig_of("kube-scheduler")
    document: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(file), "qps": 1000, "burst": 1000},
    }
    config = plane.home / "kube-scheduler-config.yaml"
    config.write_text(yaml.safe_dump(document))
    plane.run("kube-scheduler", f"--config={config}", "--secure-port=0", FEATURE_GATES)
