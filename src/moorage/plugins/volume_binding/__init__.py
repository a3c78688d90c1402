"""VolumeBinding: binds or provisions the volumes of a pod's claims for the node it goes to.

    plugin             the extension points, and the events that may help
    pod_claims         the pod's claims: bound, to be bound here, or unusable
    volume_cache       volumes and claims as assumed; volumes and capacities by class
    available_volumes  the unclaimed volumes of a class, smallest first
    volume_matches     which volume each node would use for a claim
    volume_search      on which nodes all claims can be bound or provisioned
    scorer             how full the storage would be
    binder             assumes a node's volumes, writes them, checks that they are bound

Law of the package: decisions read the assumed state and change nothing. Only Reserve assumes. Only
PreBind writes.
"""

from moorage.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding"]
