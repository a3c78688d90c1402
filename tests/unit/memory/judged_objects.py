"""Objects that an API server takes, and objects it refuses, with the field it names."""

import copy
from typing import Any, NamedTuple

Raw = dict[str, Any]


class Judged(NamedTuple):
    """One object; `fields` are those named in the refusal, none where it is taken."""

    id: str
    raw: Raw
    fields: tuple[str, ...] = ()


CONTAINER: Raw = {"name": "c", "image": "i"}
LABELS = {"app": "web"}


def pod(**spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": {"containers": [CONTAINER], **spec},
    }


def container(**more: Any) -> Raw:
    return pod(containers=[{**CONTAINER, **more}])


def resources(**more: Any) -> Raw:
    return container(resources=more)


def spread(**more: Any) -> Raw:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return pod(topologySpreadConstraints=[rule])


def node_term(**expression: Any) -> Raw:
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return pod(affinity={"nodeAffinity": required})


def pod_term(**more: Any) -> Raw:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}, **more}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(affinity={"podAntiAffinity": required})


def preferred(weight: int) -> Raw:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}}
    rule = [{"weight": weight, "podAffinityTerm": term}]
    return pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}})


def tolerating(**toleration: Any) -> Raw:
    return pod(tolerations=[toleration])


def workload(kind: str, api: str = "apps/v1", *, without: str = "", **spec: Any) -> Raw:
    template: Raw = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    whole: Raw = {"selector": {"matchLabels": LABELS}, "template": template}
    if kind == "Job":
        whole.pop("selector")
    if kind == "ReplicationController":
        whole["selector"] = LABELS
    if kind == "StatefulSet":
        whole["serviceName"] = "web"
    whole.update(spec)
    whole.pop(without, None)
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": whole,
    }


def node(*, status: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "judged"},
        "spec": spec,
        "status": status or {},
    }


def tainted(**taint: Any) -> Raw:
    return node(taints=[taint])


def claim(**spec: Any) -> Raw:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": {**asked, **spec},
    }


def volume(**spec: Any) -> Raw:
    whole = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        **spec,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "judged"},
        "spec": {field: value for field, value in whole.items() if value is not None},
    }


def of_kind(kind: str, api: str, *, namespaced: bool = False, **fields: Any) -> Raw:
    where = {"namespace": "default"} if namespaced else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "judged", **where}, **fields}


def named(name: str) -> Raw:
    raw = copy.deepcopy(pod())
    raw["metadata"]["name"] = name
    return raw


def labelled(**labels: str) -> Raw:
    raw = copy.deepcopy(pod())
    raw["metadata"]["labels"] = labels
    return raw


SELECTOR = {"matchLabels": {"app": "other"}}
C = "spec.containers[0]"
NODE_AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
ANTI = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
WEIGHT = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"
SPREAD = "spec.topologySpreadConstraints[0]"

PODS = [
    Judged("a pod", pod()),
    Judged("null volumes", pod(volumes=None)),
    Judged("null tolerations and selector", pod(tolerations=None, nodeSelector=None)),
    Judged(
        "a pod without a spec",
        {k: v for k, v in pod().items() if k != "spec"},
        ("spec.containers",),
    ),
    Judged("a pod without containers", pod(containers=[]), ("spec.containers",)),
    Judged("a container without a name", pod(containers=[{"image": "i"}]), (f"{C}.name",)),
    Judged("a container without an image", pod(containers=[{"name": "c"}]), (f"{C}.image",)),
    Judged("a container with a bad name", container(name="A_B"), (f"{C}.name",)),
    Judged(
        "two containers of one name",
        pod(containers=[CONTAINER, CONTAINER]),
        ("spec.containers[1].name",),
    ),
    Judged("a bad name", named("Web_1"), ("metadata.name",)),
    Judged("a bad label", labelled(app="not valid!"), ("metadata.labels",)),
    Judged("an unknown restart policy", pod(restartPolicy="Sometimes"), ("spec.restartPolicy",)),
    Judged("a negative grace period", pod(terminationGracePeriodSeconds=-5)),
    Judged("requests and limits", resources(requests={"cpu": "1"}, limits={"cpu": "2"})),
    Judged(
        "limits below requests",
        resources(requests={"cpu": "2"}, limits={"cpu": "1"}),
        (f"{C}.resources.requests",),
    ),
    Judged(
        "a negative request", resources(requests={"cpu": "-1"}), (f"{C}.resources.requests[cpu]",)
    ),
    Judged("a negative limit", resources(limits={"memory": "-1Gi"}), ("[memory]",)),
    Judged(
        "half a GPU",
        resources(limits={"nvidia.com/gpu": "0.5"}),
        (f"{C}.resources.limits[nvidia.com/gpu]",),
    ),
    Judged(
        "a GPU request without a limit",
        resources(requests={"nvidia.com/gpu": "1"}),
        (f"{C}.resources.limits",),
    ),
    Judged(
        "a GPU limit above its request",
        resources(requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "2"}),
        (f"{C}.resources.requests",),
    ),
    Judged(
        "an unknown resource",
        resources(requests={"cores": "1"}),
        (f"{C}.resources.requests[cores]",),
    ),
    Judged("a port", container(ports=[{"containerPort": 80}])),
    Judged(
        "a port too high",
        container(ports=[{"containerPort": 70000}]),
        (f"{C}.ports[0].containerPort",),
    ),
    Judged("no port", container(ports=[{"protocol": "TCP"}]), (f"{C}.ports[0].containerPort",)),
    Judged(
        "an unknown protocol",
        container(ports=[{"containerPort": 80, "protocol": "ICMP"}]),
        (f"{C}.ports[0].protocol",),
    ),
    Judged(
        "host ports twice",
        container(
            ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]
        ),
        (f"{C}.ports[1].hostPort",),
    ),
    Judged(
        "a host port of its own with the host's network",
        {
            **pod(
                hostNetwork=True,
                containers=[{**CONTAINER, "ports": [{"containerPort": 80, "hostPort": 81}]}],
            )
        },
        (f"{C}.ports[0].hostPort",),
    ),
    Judged("a toleration", tolerating(key="a", operator="Exists", effect="NoSchedule")),
    Judged(
        "an unknown toleration operator",
        tolerating(key="a", operator="Like"),
        ("spec.tolerations[0].operator",),
    ),
    Judged(
        "a value with Exists",
        tolerating(key="a", operator="Exists", value="b"),
        ("spec.tolerations[0].operator",),
    ),
    Judged(
        "no key with Equal",
        tolerating(operator="Equal", value="b"),
        ("spec.tolerations[0].operator",),
    ),
    Judged(
        "an unknown toleration effect",
        tolerating(key="a", operator="Exists", effect="Never"),
        ("spec.tolerations[0].effect",),
    ),
    Judged(
        "seconds without NoExecute",
        tolerating(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
        ("spec.tolerations[0].effect",),
    ),
    Judged("spreading", spread()),
    Judged("no skew", spread(maxSkew=0), (f"{SPREAD}.maxSkew",)),
    Judged("spreading over nothing", spread(topologyKey=""), (f"{SPREAD}.topologyKey",)),
    Judged(
        "spreading, or else", spread(whenUnsatisfiable="Maybe"), (f"{SPREAD}.whenUnsatisfiable",)
    ),
    Judged("no domains", spread(minDomains=0), (f"{SPREAD}.minDomains",)),
    Judged(
        "domains where any will do",
        spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        (f"{SPREAD}.minDomains",),
    ),
    Judged(
        "an unknown taints policy",
        spread(nodeTaintsPolicy="Maybe"),
        (f"{SPREAD}.nodeTaintsPolicy",),
    ),
    Judged(
        "a bad spread selector",
        spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
        (f"{SPREAD}.labelSelector.matchExpressions[0].operator",),
    ),
    Judged(
        "spreading twice alike",
        pod(
            topologySpreadConstraints=[
                {"maxSkew": n, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                for n in (1, 2)
            ]
        ),
        ("spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",),
    ),
    Judged("node affinity", node_term(key="a", operator="In", values=["b"])),
    Judged(
        "an unknown node operator",
        node_term(key="a", operator="Like", values=["b"]),
        (f"{NODE_AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].operator",),
    ),
    Judged(
        "In without values",
        node_term(key="a", operator="In"),
        (f"{NODE_AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values",),
    ),
    Judged(
        "Exists with values",
        node_term(key="a", operator="Exists", values=["b"]),
        (f"{NODE_AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values",),
    ),
    Judged(
        "Gt of two",
        node_term(key="a", operator="Gt", values=["1", "2"]),
        (f"{NODE_AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values",),
    ),
    Judged(
        "no node terms",
        pod(
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                }
            }
        ),
        (f"{NODE_AFFINITY}.nodeSelectorTerms",),
    ),
    Judged("pod anti-affinity", pod_term()),
    Judged("affinity without a topology", pod_term(topologyKey=""), (f"{ANTI}.topologyKey",)),
    Judged(
        "an unknown pod operator",
        pod_term(
            labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}
        ),
        (f"{ANTI}.labelSelector.matchExpressions[0].operator",),
    ),
    Judged("a weight of 100", preferred(100)),
    Judged("a weight of 0", preferred(0), (WEIGHT,)),
    Judged("a weight of 101", preferred(101), (WEIGHT,)),
    Judged("a bad node selector", pod(nodeSelector={"a b": "c"}), ("spec.nodeSelector",)),
    Judged(
        "a gate twice",
        pod(schedulingGates=[{"name": "a"}, {"name": "a"}]),
        ("spec.schedulingGates[1]",),
    ),
    Judged(
        "a node and a gate", pod(nodeName="n", schedulingGates=[{"name": "a"}]), ("spec.nodeName",)
    ),
    Judged("an unknown preemption policy", pod(preemptionPolicy="Maybe"), ("PreemptionPolicy",)),
    Judged(
        "a volume twice",
        pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
        ("spec.volumes[1].name",),
    ),
    Judged("a volume of nothing", pod(volumes=[{"name": "v"}])),
    Judged(
        "a volume of two kinds",
        pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
        ("spec.volumes[0].hostPath",),
    ),
    Judged(
        "a mount of no volume",
        container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        (f"{C}.volumeMounts[0].name",),
    ),
    Judged(
        "a claim without a name",
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": ""}}]),
        ("spec.volumes[0].persistentVolumeClaim.claimName",),
    ),
    Judged("a number for a text", pod(nodeName=5), ("nodeName",)),
    Judged("a text for a number", pod(priority="high"), ("priority",)),
    Judged("a text for a list", pod(containers="many"), ("containers",)),
    Judged("a text for a map", pod(nodeSelector="a=b"), ("nodeSelector",)),
    Judged("a label that is a number", labelled(app=5), ("labels",)),  # type: ignore[arg-type]
    Judged("a bad quantity", resources(requests={"cpu": "lots"}), ("quantities must match",)),
]
WORKLOADS = [
    *(
        Judged(f"a {kind}", workload(kind))
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    ),
    Judged("a Job", workload("Job", "batch/v1")),
    Judged("a ReplicationController", workload("ReplicationController", "v1")),
    *(
        Judged(f"{kind}: null replicas", workload(kind, replicas=None))
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    *(
        Judged(f"{kind}: replicas below none", workload(kind, replicas=-1), ("spec.replicas",))
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    *(
        Judged(
            f"{kind}: replicas that are no number", workload(kind, replicas="many"), ("replicas",)
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    *(
        Judged(
            f"{kind}: without a selector",
            workload(kind, without="selector"),
            ("spec.selector", "spec.template.metadata.labels"),
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    Judged(
        "DaemonSet: without a selector",
        workload("DaemonSet", without="selector"),
        ("spec.template.metadata.labels",),
    ),
    *(
        Judged(
            f"{kind}: a selector of others",
            workload(kind, selector=SELECTOR),
            ("spec.template.metadata.labels",),
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    ),
    Judged(
        "Deployment: a pod that is not restarted",
        workload(
            "Deployment",
            template={
                "metadata": {"labels": LABELS},
                "spec": {"containers": [CONTAINER], "restartPolicy": "Never"},
            },
        ),
        ("spec.template.spec.restartPolicy",),
    ),
    Judged(
        "Deployment: no containers",
        workload("Deployment", template={"metadata": {"labels": LABELS}, "spec": {}}),
        ("spec.template.spec.containers",),
    ),
    Judged(
        "Deployment: a misplaced toleration",
        workload(
            "Deployment",
            template={
                "metadata": {"labels": LABELS},
                "spec": {
                    "containers": [CONTAINER],
                    "tolerations": [{"key": "a", "operator": "Like"}],
                },
            },
        ),
        ("spec.template.spec.tolerations[0].operator",),
    ),
    Judged(
        "Job: negative parallelism",
        workload("Job", "batch/v1", parallelism=-1),
        ("spec.parallelism",),
    ),
    Judged(
        "Job: negative completions",
        workload("Job", "batch/v1", completions=-1),
        ("spec.completions",),
    ),
    Judged(
        "Job: pods that restart for ever",
        workload(
            "Job",
            "batch/v1",
            template={"spec": {"containers": [CONTAINER], "restartPolicy": "Always"}},
        ),
        ("spec.template.spec.restartPolicy",),
    ),
    Judged(
        "Job: indexed without completions",
        workload("Job", "batch/v1", parallelism=2, completionMode="Indexed"),
        ("spec.completions",),
    ),
    Judged(
        "CronJob",
        of_kind(
            "CronJob",
            "batch/v1",
            namespaced=True,
            spec={
                "schedule": "0 3 * * *",
                "jobTemplate": {
                    "spec": {
                        "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
                    }
                },
            },
        ),
    ),
    Judged(
        "CronJob: no schedule",
        of_kind(
            "CronJob",
            "batch/v1",
            namespaced=True,
            spec={
                "jobTemplate": {
                    "spec": {
                        "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
                    }
                }
            },
        ),
        ("spec.schedule",),
    ),
]
OTHERS = [
    Judged("a node", node(status={"capacity": {"cpu": "4"}})),
    Judged(
        "an unknown taint effect", tainted(key="a", effect="Never"), ("metadata.taints[0].effect",)
    ),
    Judged("a taint without effect", tainted(key="a"), ("metadata.taints[0].effect",)),
    Judged("a bad taint key", tainted(key="a b", effect="NoSchedule"), ("metadata.taints[0].key",)),
    Judged(
        "a taint twice",
        node(taints=[{"key": "a", "effect": "NoSchedule"}] * 2),
        ("metadata.taints[1]",),
    ),
    Judged("negative capacity", node(status={"capacity": {"cpu": "-4"}}), ("status.capacity.cpu",)),
    Judged(
        "negative allocatable",
        node(status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "-4"}}),
        ("status.allocatable.cpu",),
    ),
    Judged("a claim", claim()),
    Judged("a claim of no size", claim(resources={}), ("spec.resources[storage]",)),
    Judged(
        "a claim of negative size",
        claim(resources={"requests": {"storage": "-1Gi"}}),
        ("spec.resources[storage]",),
    ),
    Judged("a claim without an access mode", claim(accessModes=[]), ("spec.accessModes",)),
    Judged("an unknown access mode", claim(accessModes=["ReadSometimes"]), ("spec.accessModes",)),
    Judged("an unknown volume mode", claim(volumeMode="Tape"), ("spec.volumeMode",)),
    Judged("a volume", volume()),
    Judged("a volume of no capacity", volume(capacity=None), ("spec.capacity",)),
    Judged("a volume without an access mode", volume(accessModes=None), ("spec.accessModes",)),
    Judged("a volume of no source", volume(hostPath=None), ("spec",)),
    Judged(
        "an unknown reclaim policy",
        volume(persistentVolumeReclaimPolicy="Maybe"),
        ("spec.persistentVolumeReclaimPolicy",),
    ),
    Judged("a storage class", of_kind("StorageClass", "storage.k8s.io/v1", provisioner="a.b")),
    Judged(
        "a storage class of nobody", of_kind("StorageClass", "storage.k8s.io/v1"), ("provisioner",)
    ),
    Judged(
        "an unknown binding mode",
        of_kind("StorageClass", "storage.k8s.io/v1", provisioner="a.b", volumeBindingMode="Later"),
        ("volumeBindingMode",),
    ),
    Judged("a priority class", of_kind("PriorityClass", "scheduling.k8s.io/v1", value=5)),
    Judged(
        "a priority too high",
        of_kind("PriorityClass", "scheduling.k8s.io/v1", value=2000000000),
        ("value",),
    ),
    Judged(
        "an unknown class preemption policy",
        of_kind("PriorityClass", "scheduling.k8s.io/v1", value=5, preemptionPolicy="Maybe"),
        ("preemptionPolicy",),
    ),
    Judged(
        "a budget",
        of_kind(
            "PodDisruptionBudget",
            "policy/v1",
            namespaced=True,
            spec={"minAvailable": 1, "selector": {"matchLabels": LABELS}},
        ),
    ),
    Judged(
        "a budget of both",
        of_kind(
            "PodDisruptionBudget",
            "policy/v1",
            namespaced=True,
            spec={"minAvailable": 1, "maxUnavailable": 1},
        ),
        ("spec",),
    ),
    Judged(
        "a negative budget",
        of_kind("PodDisruptionBudget", "policy/v1", namespaced=True, spec={"minAvailable": -1}),
        ("spec.minAvailable",),
    ),
    Judged(
        "a budget of words",
        of_kind("PodDisruptionBudget", "policy/v1", namespaced=True, spec={"minAvailable": "half"}),
        ("spec.minAvailable",),
    ),
    Judged("a runtime class", of_kind("RuntimeClass", "node.k8s.io/v1", handler="runc")),
    Judged(
        "a runtime class without a handler", of_kind("RuntimeClass", "node.k8s.io/v1"), ("handler",)
    ),
    Judged(
        "a limit range",
        of_kind(
            "LimitRange",
            "v1",
            namespaced=True,
            spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
        ),
    ),
    Judged(
        "a limit range upside down",
        of_kind(
            "LimitRange",
            "v1",
            namespaced=True,
            spec={"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]},
        ),
        ("spec.limits[0].min[cpu]",),
    ),
    Judged(
        "a quota", of_kind("ResourceQuota", "v1", namespaced=True, spec={"hard": {"pods": "5"}})
    ),
    Judged(
        "a negative quota",
        of_kind("ResourceQuota", "v1", namespaced=True, spec={"hard": {"pods": "-5"}}),
        ("spec.hard[pods]",),
    ),
]
JUDGED = [*PODS, *WORKLOADS, *OTHERS]
