"""Objects that an API server takes, and objects it refuses, with the field it names."""

from tests.unit.memory.judged_pods import PODS
from tests.unit.memory.judged_templates import TEMPLATES
from tests.unit.memory.object_recipes import (
    CONTAINER,
    LABELS,
    Judged,
    claim,
    named,
    node,
    of_kind,
    tainted,
    volume,
    workload,
)

SELECTOR = {"matchLabels": {"app": "other"}}
NIGHTLY = {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
CRON_JOB = of_kind(
    "CronJob",
    "batch/v1",
    namespaced=True,
    spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": NIGHTLY}},
)

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
    Judged("CronJob", CRON_JOB),
    Judged("CronJob: a name of 52 letters", named("c" * 52, CRON_JOB)),
    Judged(
        "CronJob: a name of 53 letters",
        named("c" * 53, CRON_JOB),
        ("metadata.name", "52 characters"),
    ),
    Judged(
        "CronJob: no schedule",
        of_kind("CronJob", "batch/v1", namespaced=True, spec={"jobTemplate": {"spec": NIGHTLY}}),
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
    Judged("a namespace", of_kind("Namespace", "v1")),
    Judged(
        "a namespace of 64 letters",
        named("n" * 64, of_kind("Namespace", "v1")),
        ("metadata.name", "63 characters"),
    ),
    Judged(
        "a namespace with a dot",
        named("a.b", of_kind("Namespace", "v1")),
        ("metadata.name", "dots"),
    ),
    Judged("a node of 254 letters", named("n" * 254, node()), ("metadata.name", "253 characters")),
    Judged(
        "a StatefulSet of 64 letters",
        named("s" * 64, workload("StatefulSet")),
        ("metadata.name", "63 characters"),
    ),
    Judged(
        "a Deployment with more replicas than int32",
        workload("Deployment", replicas=1 << 31),
        ("number 2147483648", "int32"),
    ),
    Judged(
        "a budget beyond int32",
        of_kind(
            "PodDisruptionBudget", "policy/v1", namespaced=True, spec={"minAvailable": 1 << 31}
        ),
        ("number 2147483648", "int32"),
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
JUDGED = [*PODS, *WORKLOADS, *OTHERS, *TEMPLATES]
