"""Pods that an API server takes, and pods it refuses, with the field it names."""

from tests.unit.memory.object_recipes import (
    CONTAINER,
    Judged,
    container,
    labelled,
    named,
    node_term,
    pod,
    pod_term,
    preferred,
    resources,
    spread,
    tolerating,
)

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
    Judged("a name of 253 letters", named("w" * 253)),
    Judged("a name of 254 letters", named("w" * 254), ("metadata.name", "253 characters")),
    Judged(
        "a container with a name of 64 letters",
        container(name="c" * 64),
        (f"{C}.name", "63 characters"),
    ),
    Judged("a container with a dot in its name", container(name="a.b"), (f"{C}.name", "dots")),
    Judged("a label of 63 letters", labelled(app="v" * 63)),
    Judged("a label of 64 letters", labelled(app="v" * 64), ("metadata.labels", "63 bytes")),
    Judged(
        "a label with a long prefix",
        labelled(**{f"{'p' * 254}/app": "web"}),
        ("metadata.labels", "253 bytes"),
    ),
    Judged("a label with two prefixes", labelled(**{"a/b/c": "web"}), ("metadata.labels",)),
    Judged("a bad node name", pod(nodeName="N_1"), ("spec.nodeName",)),
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
    Judged("a request left empty", resources(requests={"cpu": None})),
    Judged(
        "a request left empty beside a limit",
        resources(requests={"cpu": None}, limits={"cpu": "1"}),
    ),
    Judged("a request beyond float64", resources(requests={"cpu": "1e400"})),
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
    Judged("a weight of 1", preferred(1)),
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
    Judged("a priority beyond int32", pod(priority=3_000_000_000), ("number 3000000000", "int32")),
    Judged("a fraction for a number", pod(priority=1.5), ("number 1.5", "priority")),
    Judged("a host port beyond int32", container(ports=[{"hostPort": 1 << 31}]), ("int32",)),
    Judged(
        "a host port too high",
        container(ports=[{"containerPort": 80, "hostPort": 65536}]),
        (f"{C}.ports[0].hostPort",),
    ),
    Judged("a skew beyond int32", spread(maxSkew=1 << 31), ("maxSkew", "int32")),
    Judged(
        "a grace period beyond int64",
        pod(terminationGracePeriodSeconds=1 << 63),
        ("terminationGracePeriodSeconds", "int64"),
    ),
    Judged("a grace period beyond int32", pod(terminationGracePeriodSeconds=1 << 31)),
    Judged("no deadline", pod(activeDeadlineSeconds=0), ("spec.activeDeadlineSeconds",)),
    Judged(
        "a deadline beyond int32",
        pod(activeDeadlineSeconds=1 << 31),
        ("spec.activeDeadlineSeconds",),
    ),
    Judged("a text for a list", pod(containers="many"), ("containers",)),
    Judged("a text for a map", pod(nodeSelector="a=b"), ("nodeSelector",)),
    Judged("a label that is a number", labelled(app=5), ("labels",)),  # type: ignore[arg-type]
    Judged("a bad quantity", resources(requests={"cpu": "lots"}), ("quantities must match",)),
]
