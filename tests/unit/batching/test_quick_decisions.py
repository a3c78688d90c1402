"""What `simulate` decides quickly is what the scheduler decides, whatever the cluster holds."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from moorage.batching.quick_decisions import FULL_FIRST
from moorage.cycle import attempt
from moorage.simulate import simulation_report
from tests.unit.simulate import embedded_runs

GPU = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "spread"}},
}
SHUN = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "plain-1"}},
            }
        ]
    }
}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": "rs"}
SPECIAL: dict[str, dict[str, Any]] = {
    "spread": {"topologySpreadConstraints": [SPREAD]},
    "shunning": {"affinity": SHUN},
    "important": {"priority": 1000},
    "pinned": {"nodeSelector": {"topology.kubernetes.io/zone": "a"}},
    "claiming": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]},
    "tolerant": {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
}


def node(rng: random.Random, index: int) -> dict[str, Any]:
    offered = {"cpu": rng.choice(("4", "8")), "memory": rng.choice(("8Gi", "16Gi")), "pods": "12"}
    labels = {"kubernetes.io/hostname": f"n{index}", "topology.kubernetes.io/zone": "ab"[index % 2]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{index}", "labels": labels},
        "spec": {
            "taints": GPU if rng.random() < 0.2 else [],
            "unschedulable": rng.random() < 0.1,
        },
        "status": {
            "allocatable": offered,
            "images": [{"names": ["heavy:v1"], "sizeBytes": 900_000_000}] if index % 5 == 0 else [],
        },
    }


def pod(name: str, app: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "heavy:v1" if app == "plain-2" else "light:v1",
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
        "spec": {"containers": [container], **spec},
    }


def replica_set(name: str, replicas: int = 0) -> dict[str, Any]:
    """It has as many pods as it wants, and spreads those that name it as their owner."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default", "uid": "rs"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "plain-3"}}},
    }


def gang(name: str, members: int) -> list[dict[str, Any]]:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members},
    }
    pods = [pod(f"{name}-{i}", "plain-0", "1") for i in range(members)]
    for each in pods:
        each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = name
    return [group, *pods]


def cluster(seed: int) -> list[dict[str, Any]]:
    """Pods of a few classes, more than fit, among some that have more to ask for."""
    rng = random.Random(seed)
    special = rng.sample(sorted(SPECIAL), rng.randrange(3))
    objects = [node(rng, i) for i in range(rng.choice((1, 12, 24)))]
    for index in range(120):
        app = rng.choice([*(f"plain-{i}" for i in range(4)), *special])
        cpu = {"plain-0": "500m", "plain-1": "300m"}.get(app, "100m")
        objects.append(pod(f"p{index}", app, cpu, **SPECIAL.get(app, {})))
    if rng.random() < 0.2:
        objects.append(replica_set("owner"))
    for owned in rng.sample(objects, 20):
        if owned["kind"] == "Pod":
            owned["metadata"]["ownerReferences"] = [OWNER]
    return [*objects, *(gang("g", 4) if rng.random() < 0.2 else ())]


def outcome(manifests: list[dict[str, Any]], seed: int, *, observed: bool) -> dict[str, Any]:
    """What a run tells; whoever is observed decides in full."""
    seen = (object(),) if observed else ()
    ran = embedded_runs.run(*manifests, seed=seed, observers=seen)
    return simulation_report.build_report(ran).as_data()


@pytest.mark.parametrize("seed", range(12))
def test_a_run_with_quick_decisions_is_the_run_in_full(seed: int) -> None:
    manifests = cluster(seed)

    assert outcome(manifests, seed, observed=True) == outcome(manifests, seed, observed=False)


def test_like_pods_are_decided_quickly_from_the_fifth_on(monkeypatch: pytest.MonkeyPatch) -> None:
    in_full: list[str] = []
    run = attempt.run

    def counted(profile: Any, cycle: Any) -> Any:
        in_full.append(cycle.pod.name)
        return run(profile, cycle)

    monkeypatch.setattr(attempt, "run", counted)
    rng = random.Random(1)
    plain = [pod(f"p{i}", "plain-0", "100m") for i in range(12)]

    told = outcome([node(rng, 1), node(rng, 2), *plain], 0, observed=False)

    assert {each["state"] for each in told["pods"]} == {"placed"}
    assert len(in_full) == FULL_FIRST


def sized(name: str, cpu: str) -> dict[str, Any]:
    """An empty node that takes any pod."""
    found = node(random.Random(0), 1)
    found["metadata"] = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    found["spec"], found["status"] = {}, {"allocatable": {"cpu": cpu, "memory": cpu, "pods": "99"}}
    return found


def small(names: Iterable[str], app: str, **spec: Any) -> list[dict[str, Any]]:
    pods = [pod(name, app, "100m", **spec) for name in names]
    for each in pods:
        each["spec"]["containers"][0]["resources"]["requests"]["memory"] = "100m"
    return pods


def test_pods_that_shun_a_class_are_heeded_by_it_from_then_on() -> None:
    nodes = [sized(name, "8") for name in ("n1", "n2", "n3")]
    pods = [
        *small("ab", "plain-1"),
        *small(("b2",), "shunning", affinity=SHUN),
        *small("cdefgh", "plain-1"),
    ]

    placed = embedded_runs.places(embedded_runs.run(*nodes, *pods))

    assert placed["b2"] not in {placed[name] for name in "abcdefgh"}


def test_pods_of_a_class_with_an_owner_are_spread_and_those_without_are_not() -> None:
    nodes = [sized("large", "64"), sized("little", "8")]
    owned = small("f", "plain-3")
    owned[0]["metadata"]["ownerReferences"] = [{**OWNER, "controller": True}]

    placed = embedded_runs.places(
        embedded_runs.run(*nodes, replica_set("owner", 1), *small("abcde", "plain-3"), *owned)
    )

    assert set(map(placed.__getitem__, "abcde")) == {"large"}
    assert placed["f"] == "little"
