"""Pods of every shape with what belongs to them, each with names and labels of its own."""

import random
from collections.abc import Callable
from typing import Any, Final

from moorage.watch.api_resources import NODES, PODS, RESOURCES, Resource
from tests.integration.making import node, pod

Raw = dict[str, Any]
Brought = list[tuple[Resource, Raw]]
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"


class Shapes:
    """Draws one thing after the other; no two have a name, a uid or a label in common."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._made = 0
        self._shapes: list[Callable[[str], Brought]] = [
            self._plain,
            self._plain,
            self._plain,
            self._requests,
            self._spread,
            self._anti_affinity,
            self._affinity,
            self._preferred,
            self._node_affinity,
            self._waits,
            self._gated,
            self._preempts,
            self._port,
            self._volume,
            self._ephemeral,
            self._own_node,
            self._namespaced,
            self._gang,
            self._service,
            self._budget,
            self._image,
            self._foreign,
            self._toleration,
        ]

    def draw(self) -> Brought:
        self._made += 1
        return self._rng.choice(self._shapes)(f"{self._made:x}")

    def node(self, name: str, number: int, **more: Any) -> Raw:
        labels = {ZONE: f"z{number % 5}", **more.pop("labels", {})}
        made = node(name, cpu="32", memory="64Gi", pods=200, labels=labels, **more)
        made["metadata"]["uid"] = f"node-{name}"
        return made

    def _pod(self, name: str, **more: Any) -> Raw:
        labels = {"app": f"app-{name}", "pod-template-hash": name, **more.pop("labels", {})}
        made = pod(f"pod-{name}", labels=labels, **more)
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"rs-{name}"}
        made["metadata"] |= {
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{**owner, "uid": f"rs-uid-{name}", "controller": True}],
            "annotations": {"example.com/own": name},
        }
        return made

    def _plain(self, name: str) -> Brought:
        return [(PODS, self._pod(name))]

    def _requests(self, name: str) -> Brought:
        return [(PODS, self._pod(name, cpu=f"{1 + self._made % 3000}m", memory=f"{self._made}Ki"))]

    def _spread(self, name: str) -> Brought:
        constraint = {
            "maxSkew": 1,
            "topologyKey": self._rng.choice((ZONE, HOSTNAME)),
            "whenUnsatisfiable": self._rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": f"app-{name}"}},
        }
        return [(PODS, self._pod(name, topologySpreadConstraints=[constraint]))]

    def _term(self, name: str, key: str = HOSTNAME) -> Raw:
        return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": f"app-{name}"}}}

    def _anti_affinity(self, name: str) -> Brought:
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [self._term(name)]}
        return [(PODS, self._pod(name, affinity={"podAntiAffinity": rule}))]

    def _affinity(self, name: str) -> Brought:
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [self._term(name, ZONE)]}
        return [(PODS, self._pod(name, affinity={"podAffinity": rule}))]

    def _preferred(self, name: str) -> Brought:
        weighted = [{"weight": 1 + self._made % 100, "podAffinityTerm": self._term(name, ZONE)}]
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
        return [(PODS, self._pod(name, affinity={"podAffinity": rule, "podAntiAffinity": rule}))]

    def _node_affinity(self, name: str) -> Brought:
        expression = {"key": ZONE, "operator": "NotIn", "values": [f"z-{name}"]}
        term = {"matchExpressions": [expression]}
        required = {"nodeSelectorTerms": [term]}
        rule = {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}],
        }
        return [(PODS, self._pod(name, affinity={"nodeAffinity": rule}))]

    def _waits(self, name: str) -> Brought:
        return [(PODS, self._pod(name, nodeSelector={f"example.com/{name}": "no"}))]

    def _gated(self, name: str) -> Brought:
        return [(PODS, self._pod(name, schedulingGates=[{"name": f"example.com/{name}"}]))]

    def _preempts(self, name: str) -> Brought:
        return [(PODS, self._pod(name, cpu="31950m", priority=100 + self._made))]

    def _port(self, name: str) -> Brought:
        made = self._pod(name)
        made["spec"]["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 1024 + self._made % 60_000, "protocol": "TCP"}
        ]
        return [(PODS, made)]

    def _volume(self, name: str) -> Brought:
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": f"data-{name}",
                "namespace": "default",
                "uid": f"pvc-{name}",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {"volumeName": f"pv-{name}", "storageClassName": f"class-{name}"},
            "status": {"phase": "Bound"},
        }
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}", "uid": f"pv-{name}", "labels": {ZONE: "z1"}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "csi.example.com", "volumeHandle": name},
                "claimRef": {"namespace": "default", "name": f"data-{name}", "uid": f"pvc-{name}"},
            },
        }
        used = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
        return [
            (RESOURCES["persistentvolumes"], volume),
            (RESOURCES["persistentvolumeclaims"], claim),
            (PODS, self._pod(name, volumes=used)),
        ]

    def _ephemeral(self, name: str) -> Brought:
        used = [{"name": "data", "persistentVolumeClaim": {"claimName": f"missing-{name}"}}]
        return [(PODS, self._pod(name, volumes=used))]

    def _own_node(self, name: str) -> Brought:
        taint = {"key": f"example.com/{name}", "value": name, "effect": "NoSchedule"}
        made = self.node(f"node-{name}", self._made, taints=[taint], labels={"only": name})
        made["status"]["images"] = [{"names": [f"registry.example/{name}"], "sizeBytes": 10**9}]
        return [(NODES, made), (PODS, self._pod(name, nodeSelector={"only": name}))]

    def _toleration(self, name: str) -> Brought:
        tolerated = [{"key": f"example.com/{name}", "operator": "Exists"}]
        return [(PODS, self._pod(name, tolerations=tolerated))]

    def _namespaced(self, name: str) -> Brought:
        space = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": f"ns-{name}", "uid": f"ns-{name}", "labels": {"team": name}},
        }
        term = {**self._term(name), "namespaceSelector": {"matchLabels": {"team": name}}}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        quota = {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": "quota", "namespace": f"ns-{name}", "uid": f"q-{name}"},
            "spec": {"min": {"cpu": "1"}, "max": {"cpu": "10"}},
        }
        made = self._pod(name, namespace=f"ns-{name}", affinity={"podAntiAffinity": rule})
        return [(RESOURCES["namespaces"], space), (RESOURCES["elasticquotas"], quota), (PODS, made)]

    def _gang(self, name: str) -> Brought:
        group = {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"g-{name}", "namespace": "default", "uid": f"g-{name}"},
            "spec": {"minMember": self._rng.choice((2, 2, 3)), "scheduleTimeoutSeconds": 5},
        }
        labels = {"scheduling.x-k8s.io/pod-group": f"g-{name}"}
        pods = [(PODS, self._pod(f"{name}-{i}", labels=labels)) for i in range(2)]
        return [(RESOURCES["podgroups"], group), *pods]

    def _service(self, name: str) -> Brought:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"svc-{name}", "namespace": "default", "uid": f"svc-{name}"},
            "spec": {"selector": {"app": f"app-{name}"}},
        }
        return [(RESOURCES["services"], service), (PODS, self._pod(name))]

    def _budget(self, name: str) -> Brought:
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"pdb-{name}", "namespace": "default", "uid": f"pdb-{name}"},
            "spec": {"selector": {"matchLabels": {"app": f"app-{name}"}}, "minAvailable": 1},
            "status": {"disruptionsAllowed": 0},
        }
        return [(RESOURCES["poddisruptionbudgets"], budget), (PODS, self._pod(name))]

    def _image(self, name: str) -> Brought:
        made = self._pod(name)
        made["spec"]["containers"][0]["image"] = f"registry.example/{name}:1"
        return [(PODS, made)]

    def _foreign(self, name: str) -> Brought:
        made = self._pod(name, scheduler="default-scheduler", nodeName="stays-1")
        return [(PODS, made)]
