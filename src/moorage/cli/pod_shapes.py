"""The shapes of pods in a file: its pods, and one pod of each workload in it."""

import random
from typing import Final

from moorage.cli.common import warn
from moorage.clock import VirtualClock
from moorage.config.field_errors import InputError
from moorage.memory.cluster_resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from moorage.memory.controllers.owned_pods import OwnerKey, owner_key
from moorage.memory.controllers.standard_controllers import standard_controllers
from moorage.memory.memory_cluster import MemoryCluster
from moorage.simulate import manifest_files
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.manifest_policies import is_policy
from moorage.simulate.manifest_selection import select_readable
from moorage.simulate.simulated_feeds import split_measurements
from moorage.simulate.simulation import load_cluster, pods_in
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

WORKLOADS: Final = frozenset(
    each.kind
    for each in (
        DEPLOYMENTS,
        REPLICA_SETS,
        REPLICATION_CONTROLLERS,
        STATEFUL_SETS,
        DAEMON_SETS,
        JOBS,
        CRON_JOBS,
    )
)


def read_shapes(file: str, validate: bool) -> list[Raw]:
    """A pod for each shape, in the order of the file; warns of objects that make no pod."""
    said: list[str] = []
    found = select_readable(manifest_files.read_manifests([file], said), said)
    kept, _ = split_measurements(each for each in found if not is_policy(each))
    objects = list(kept)
    cluster = load_cluster(
        objects, VirtualClock(), random.Random(0), validate=validate, warnings=said
    )
    manager, _ = standard_controllers(cluster)
    manager.settle()
    firsts = _first_pods(cluster)
    warn(said)
    warn(
        f"{each.place}: {each.kind} {each.name} makes no pod, so none is counted"
        for each in objects
        if each.kind in WORKLOADS and _key(each) not in firsts
    )
    if not firsts:
        raise InputError([f"{file}: no pod in it, nor anything that makes pods"])
    written = (_key(each) for each in objects)
    order = dict.fromkeys([*(key for key in written if key in firsts), *firsts])
    return [firsts[key] for key in order]


def _first_pods(cluster: MemoryCluster) -> dict[OwnerKey, Raw]:
    """Pods by their object in the file: the pod itself, or the first pod of a workload."""
    firsts: dict[OwnerKey, Raw] = {}
    for pod in pods_in(cluster):
        raw = cluster.read(PODS, pod.namespace, pod.name)
        firsts.setdefault(_workload(cluster, raw) or (PODS.kind, pod.namespace, pod.name), raw)
    return firsts


def _workload(cluster: MemoryCluster, pod: Raw) -> OwnerKey | None:
    """The controller of a pod; for a ReplicaSet's pod its Deployment, if it has one."""
    owner = owner_key(pod)
    if owner is None or owner[0] != REPLICA_SETS.kind:
        return owner
    above = cluster.registry.store.table(REPLICA_SETS).entries.get("/".join(owner[1:]))
    return owner if above is None else owner_key(above.raw) or owner


def _key(manifest: Manifest) -> OwnerKey:
    """The key of a manifest itself, or of its controller."""
    namespace = manifest.raw["metadata"].get("namespace") or "default"
    kind, _, name = owner_key(manifest.raw) or (manifest.kind, "", manifest.name)
    return kind, namespace, name
