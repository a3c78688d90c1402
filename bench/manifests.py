"""Writes a cluster as `kubectl get nodes,pods -A -o yaml` prints it: nodes, and pods that wait.

python bench/manifests.py FILE [--nodes 5000] [--pods 20000]

"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import yaml

WORKLOADS = 200
SIZES = (("100m", "128Mi"), ("250m", "512Mi"), ("500m", "1Gi"), ("1", "2Gi"), ("2", "8Gi"))
CREATED = "2026-01-01T00:00:00Z"


def node(index: int) -> dict[str, object]:
    """One node, with what a kubelet reports."""
    name, zone = f"ip-10-{index // 250}-{index % 250}-7.ec2.internal", "abc"[index % 3]
    offered = {
        "cpu": "15890m", "ephemeral-storage": "95551679124", "hugepages-1Gi": "0",
        "hugepages-2Mi": "0", "memory": "63456Mi", "pods": "110",
    }  # fmt: skip
    conditions = [
        {
            "lastHeartbeatTime": CREATED, "lastTransitionTime": CREATED,
            "message": f"kubelet has {word}", "reason": f"Kubelet{word}",
            "status": "True" if kind == "Ready" else "False", "type": kind,
        }
        for kind, word in (
            ("MemoryPressure", "HasSufficientMemory"), ("DiskPressure", "HasNoDiskPressure"),
            ("PIDPressure", "HasSufficientPID"), ("Ready", "Ready"),
        )
    ]  # fmt: skip
    images = [
        {"names": [f"registry.example.com/app-{each}:v1.{each}"], "sizeBytes": 40_000_000 + each}
        for each in range(index % 4, index % 4 + 5)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "creationTimestamp": CREATED,
            "labels": {
                "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m5.4xlarge",
                "topology.kubernetes.io/region": "eu-central-1",
                "topology.kubernetes.io/zone": f"eu-central-1{zone}",
            },
            "name": name,
            "resourceVersion": str(1000 + index),
            "uid": f"00000000-0000-4000-8000-{index:012x}",
        },
        "spec": {"podCIDR": f"10.{index // 250}.{index % 250}.0/24", "providerID": f"aws:///{index}"},
        "status": {
            "addresses": [
                {"address": f"10.{index // 250}.{index % 250}.7", "type": "InternalIP"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": offered,
            "capacity": {**offered, "cpu": "16"},
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": images,
            "nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "containerd://2",
                "kernelVersion": "6.1.0", "kubeletVersion": "v1.37.0", "machineID": "",
                "operatingSystem": "linux", "osImage": "Linux", "systemUUID": "",
            },
        },
    }  # fmt: skip


def pod(index: int) -> dict[str, object]:
    """One pod that waits, as an API server has completed it."""
    workload = f"app-{index % WORKLOADS}"
    cpu, memory = SIZES[index % WORKLOADS % len(SIZES)]
    owner = {
        "apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True,
        "kind": "ReplicaSet", "name": f"{workload}-5d9c", "uid": f"rs-{index % WORKLOADS}",
    }  # fmt: skip
    token = {
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        "name": "kube-api-access",
    }
    container = {
        "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "PORT", "value": "8080"}],
        "image": f"registry.example.com/{workload}:v1",
        "imagePullPolicy": "IfNotPresent",
        "name": "main",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": {"memory": memory}, "requests": {"cpu": cpu, "memory": memory}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{**token, "readOnly": True}],
    }
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
    ]
    tolerations = [
        {
            "effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for key in ("not-ready", "unreachable")
    ]  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "creationTimestamp": CREATED,
            "generateName": f"{workload}-5d9c-",
            "labels": {"app": workload, "pod-template-hash": "5d9c"},
            "name": f"{workload}-5d9c-{index:05x}",
            "namespace": f"team-{index % WORKLOADS % 10}",
            "ownerReferences": [owner],
            "resourceVersion": str(100_000 + index),
            "uid": f"10000000-0000-4000-8000-{index:012x}",
        },
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {},
            "serviceAccount": "default", "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30, "tolerations": tolerations,
            "volumes": [
                {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": sources}}
            ],
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }  # fmt: skip


def parts(nodes: int, pods: int) -> Iterator[str]:
    """The text, object by object."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yield "apiVersion: v1\nitems:\n"
    for found in (*map(node, range(nodes)), *map(pod, range(pods))):
        yield yaml.dump([found], Dumper=dumper, default_flow_style=False)
    yield 'kind: List\nmetadata:\n  resourceVersion: ""\n'


def write(file: Path, nodes: int, pods: int) -> None:
    """Write such a cluster."""
    with file.open("w") as out:
        out.writelines(parts(nodes, pods))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    given = parser.parse_args()
    write(given.file, given.nodes, given.pods)


if __name__ == "__main__":
    main()
