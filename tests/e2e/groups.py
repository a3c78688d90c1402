"""The groups of specs that are run, by upstream's names."""

from typing import Final, NamedTuple


class Group(NamedTuple):
    """Specs that belong together: `focus` and `skip` are regular expressions over their names."""

    title: str
    focus: str
    skip: str = ""


GROUPS: Final = {
    "scheduling": Group("scheduling", r"\[sig-scheduling\]"),
    "daemonset": Group("apps: DaemonSet", r"\[sig-apps\] Daemon set"),
    "statefulset": Group(
        "apps: StatefulSet",
        r"\[sig-apps\] StatefulSet.*(evicted|scale subresource|collection|Status endpoints"
        r"|MinReadySeconds|ordinal|OnDelete)",
    ),
}
"""Specs that run commands in containers, or want volumes provisioned, are in none of them."""
SHORT: Final = Group(
    "a short selection",
    "GangScheduling|WorkloadAwarePreemption|NodeSelector is respected|pod overhead|PVC has node-aff"
    "|PodTopologySpread Filtering|taints-tolerations|schedulingGates|LimitRange with defaults",
)
"""What `make test` runs: one of each kind, in a few minutes."""
