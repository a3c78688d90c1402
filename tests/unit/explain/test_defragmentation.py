"""A few pods whose move lets GPUs be used that nobody can use as they are."""

import msgspec
import pytest

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.meta import OwnerReference
from moorage.api.pod import Pod
from moorage.explain.defragmentation import Defragmentation, defragment
from moorage.explain.world import World
from moorage.policies.gpu import gpu_packing
from moorage.policies.gpu.devices.annotations import DEVICES, MILLI, NODE
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod

ASKED, COUNT = "alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-count"
GROUP = "scheduling.x-k8s.io/pod-group"


def box(name: str, gpus: int = 4) -> NodeBuilder:
    return node(name).offering({COUNT: str(gpus)}, cpu="64", memory="64Gi")


def asking(name: str, milli: int, count: int = 1, **said: str) -> PodBuilder:
    asked = {ASKED: str(milli), COUNT: str(count)}
    return pod(name).requesting(cpu="1").annotated({**asked, **said})


def running(
    name: str,
    where: str,
    device: str,
    milli: int = 470,
    kind: str = "ReplicaSet",
    labels: dict[str, str] | None = None,
) -> Pod:
    """A pod of a controller that holds devices."""
    held = {DEVICES: device, MILLI: str(milli), NODE: where}
    made = asking(name, milli, device.count("-") + 1, **held).on(where)
    owner = OwnerReference(kind=kind, name="its-owner", uid="o", controller=True)
    bound = made.labelled(labels or {"app": name}).build()
    meta = msgspec.structs.replace(bound.metadata, owner_references=(owner,))
    return msgspec.structs.replace(bound, metadata=meta)


def scattered(kind: str = "ReplicaSet", labels: dict[str, str] | None = None) -> Cluster:
    """A share on each of three nodes of four GPUs, where two would do; large pods come, too."""
    shares = [running(f"s{i}", f"n{i}", "0", 470, kind, labels) for i in range(3)]
    large = running("large", "n3", "0-1-2-3", 1000)
    boxes = [box(f"n{i}") for i in range(4)]
    return Cluster(*boxes, *shares, large, plugins=[GPUPacking()], alone=True)


def proposed(cluster: Cluster, most: int = 10, *waiting: PodBuilder) -> Defragmentation:
    world = World(cluster.cache, {"default-scheduler": cluster.profile})
    return defragment(world, [one.build() for one in waiting], most)


def budget(app: str, allowed: int) -> PodDisruptionBudget:
    made = {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }
    return decode_as(made, PodDisruptionBudget)


def test_shares_that_are_scattered_are_brought_together() -> None:
    found = proposed(scattered())

    assert found.before.room == {"4": 0}
    assert found.after.room["4"] >= 1
    assert found.after.unusable < found.before.unusable
    assert found.after.idle == found.before.idle
    assert 1 <= len(found.moves) <= 2
    assert {move.pod for move in found.moves} <= {"default/s0", "default/s1", "default/s2"}
    assert all(move.source != move.target for move in found.moves)


def test_a_pod_that_waits_gets_room() -> None:
    found = proposed(scattered(), 10, asking("w", 1000, 4))

    assert (found.before.waiting, found.after.waiting) == (1, 0)


def test_no_more_moves_than_asked_for_and_the_cluster_is_as_it_was() -> None:
    cluster = scattered()
    columns = gpu_packing.packed_gpus(cluster.cache.table).columns
    before = columns.free(cluster.cache.table).left.copy()

    assert len(proposed(cluster, 1).moves) == 1
    assert (columns.free(cluster.cache.table).left == before).all()
    assert cluster.cache.node_of(running("s0", "n0", "0").uid) == "n0"
    columns.validate(cluster.cache.table)


@pytest.mark.parametrize("allowed", [0, 1])
def test_disruption_budgets_are_honoured(allowed: int) -> None:
    cluster = scattered()
    for app in ("s0", "s1", "s2"):
        cluster.cache.objects.put(budget(app, allowed))

    assert bool(proposed(cluster).moves) is bool(allowed)


def test_a_budget_of_several_pods_is_spent_once() -> None:
    shares = [running(f"s{i}", f"n{i}", "0", labels={"app": "all"}) for i in range(6)]
    large = running("large", "n6", "0-1-2-3", 1000)
    boxes = [box(f"n{i}") for i in range(7)]
    cluster = Cluster(*boxes, *shares, large, plugins=[GPUPacking()], alone=True)
    assert len(proposed(cluster).moves) > 1
    cluster.cache.objects.put(budget("all", 1))

    assert len(proposed(cluster).moves) == 1


def test_some_pods_stay_where_they_are() -> None:
    assert proposed(scattered(labels={GROUP: "train"})).moves == ()
    assert proposed(scattered("DaemonSet")).moves == ()


def test_what_is_packed_already_stays() -> None:
    cluster = Cluster(
        box("n0"),
        box("n1"),
        running("a", "n0", "0"),
        running("b", "n0", "0"),
        running("large", "n1", "0-1-2-3", 1000),
        plugins=[GPUPacking()],
        alone=True,
    )

    assert proposed(cluster).moves == ()
