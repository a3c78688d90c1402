"""The groups of specs that are run, by upstream's names."""

from typing import Final, NamedTuple


class Group(NamedTuple):
    """Specs that belong together: `focus` and `skip` are regular expressions over their names.

    They are in one `binary`, and may need a default storage class whose volumes somebody makes.
    """

    title: str
    focus: str
    skip: str = ""
    binary: str = "e2e.test"
    provision: bool = False


VOLUMES: Final = "e2e-volumes.test"
GROUPS: Final = {
    "scheduling": Group("scheduling", r"\[sig-scheduling\]"),
    "daemonset": Group("apps: DaemonSet", r"\[sig-apps\] Daemon set"),
    "statefulset": Group(
        "apps: StatefulSet",
        r"\[sig-apps\] StatefulSet.*(evicted|scale subresource|collection|Status endpoints"
        r"|MinReadySeconds|ordinal|OnDelete)",
    ),
    "storage": Group(
        "storage: claims",
        r"\[sig-storage\] (PVC Protection|PersistentVolumes Default StorageClass)",
        binary=VOLUMES,
        provision=True,
    ),
    "node": Group(
        "node: resizes and runtime classes",
        r"\[sig-node\] (Pod InPlace Resize Container \(scheduler-focused\)"
        r"|RuntimeClass.*(schedul|conflicting))",
        binary=VOLUMES,
    ),
}
"""Specs that run commands in containers are in none of them."""
UNCARRIED: Final = {
    "PersistentVolumes-local": "commands on the nodes make its volumes",
    r"\[sig-storage\] (CSI|In-tree) Volumes": "a driver, a server or a cloud's disks have to run",
    "PersistentVolumes NFS": "an NFS server has to run",
    r"\[sig-storage\] Dynamic Provisioning": "a cloud's disks, or a provisioner that runs in a pod",
    r"Pod InPlace Resize Container \(deferred-resizes\)": "about the order in which kubelet "
    "resizes pods that waited for it",
    r"Pod InPlace Resize Container \(deferred-resize-preemption\)": "preemption for resizes, a "
    "feature gate that is off by default",
    r"\[sig-node\] Events": "containers have to tell of their start",
}
"""Specs of the volumes' binary, of which at least some concern scheduling, that a kubelet without
containers cannot carry: by their names, and why."""
SHORT: Final = Group(
    "a short selection",
    "GangScheduling|WorkloadAwarePreemption|NodeSelector is respected|pod overhead|PVC has node-aff"
    "|PodTopologySpread Filtering|taints-tolerations|schedulingGates|LimitRange with defaults",
)
"""What `make kube-tests` runs: one of each kind, in a few minutes."""
