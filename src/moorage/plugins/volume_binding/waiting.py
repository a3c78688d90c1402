"""Whether volumes that were written are bound by now, or never will be."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_affinity import reach_of, reaches
from moorage.plugins.volume_binding.binding import Pair, Plan
from moorage.plugins.volume_claims import SELECTED_NODE, is_bound, not_found
from moorage.plugins.volume_migration import MIGRATED_PLUGINS, migrated_reach, plugin_of


class BindingFailedError(Exception):
    """The volumes will not be bound to the pod's claims on this node: schedule it again."""


def is_done(cycle: Cycle, pod: Pod, node: str, written: Plan) -> bool:
    """Whether everything in the plan is bound; raises where it will not come to that.

    Looks at what the API server says, never at assumptions.
    """
    if node not in cycle.table.row_of:
        raise BindingFailedError(f'failed to get node "{node}": {not_found("node", node)}')
    if cycle.cache.pod(pod.uid) is None:
        raise BindingFailedError(f"pod does not exist any more: {not_found('pod', pod.name)}")
    here = cycle.table.node(cycle.table.row_of[node])
    return all(_pair_is_bound(cycle, here, pair) for pair in written.pairs) and all(
        _is_provisioned(cycle, here, claim) for claim in written.provisions
    )


def _pair_is_bound(cycle: Cycle, node: Node, pair: Pair) -> bool:
    volume = _known_volume(cycle, pair.volume.name)
    claim = _known_claim(cycle, pair.claim, "failed to check binding")
    if volume is None:
        raise BindingFailedError(
            f"failed to check binding: {not_found('persistentvolumes', pair.volume.name)}"
        )
    if _is_behind(volume, pair.volume):
        return False
    _check_reach(cycle, volume, node)
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        raise BindingFailedError(f'ClaimRef got reset for pv "{volume.name}"')
    return is_bound(claim)


def _is_provisioned(cycle: Cycle, node: Node, written: PersistentVolumeClaim) -> bool:
    claim = _known_claim(cycle, written, "failed to check provisioning pvc")
    if _is_behind(claim, written):
        return False
    if not claim.annotations:
        raise BindingFailedError(f'selectedNode annotation reset for PVC "{claim.name}"')
    if claim.annotations.get(SELECTED_NODE, "") != node.name:
        raise BindingFailedError(f'provisioning failed for PVC "{claim.name}"')
    if claim.spec.volume_name:
        volume = _known_volume(cycle, claim.spec.volume_name)
        if volume is None:
            return False
        _check_reach(cycle, volume, node)
    return is_bound(claim)


def _known_volume(cycle: Cycle, name: str) -> PersistentVolume | None:
    return cycle.get(PersistentVolume, name)


def _known_claim(cycle: Cycle, wanted: PersistentVolumeClaim, doing: str) -> PersistentVolumeClaim:
    found = cycle.get(PersistentVolumeClaim, wanted.name, wanted.namespace)
    if found is None:
        key = f"{wanted.namespace}/{wanted.name}"
        raise BindingFailedError(f"{doing}: {not_found('persistentvolumeclaims', key)}")
    return found


def _is_behind(
    known: PersistentVolume | PersistentVolumeClaim,
    written: PersistentVolume | PersistentVolumeClaim,
) -> bool:
    """Whether what was written has not come back to us yet."""
    ours, theirs = written.metadata.resource_version, known.metadata.resource_version
    return ours.isdigit() and theirs.isdigit() and int(theirs) < int(ours)


def _check_reach(cycle: Cycle, volume: PersistentVolume, node: Node) -> None:
    plugin = plugin_of(volume.spec)
    reach = reach_of(volume)
    if plugin is not None and plugin.handle is not None and _has_migrated(cycle, node, plugin.name):
        reach = migrated_reach(volume, plugin)
    if not reaches(reach, node.labels):
        raise BindingFailedError(
            f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
            "no matching NodeSelectorTerms"
        )


def _has_migrated(cycle: Cycle, node: Node, plugin: str) -> bool:
    found = cycle.get(CSINode, node.name)
    return found is not None and plugin in found.annotations.get(MIGRATED_PLUGINS, "").split(",")
