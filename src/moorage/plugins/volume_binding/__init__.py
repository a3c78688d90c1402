"""VolumeBinding: binds or provisions the volumes of a pod's claims for the node it goes to.

    plugin         the extension points
    claims         the pod's claims: bound, to be bound here, or in the way
    assuming       volumes and claims as they will be once what is under way is done
    shelf          the unclaimed volumes of a class, ready to be matched
    shelving       volumes by class, capacities by class
    matching       which volumes can serve a claim
    provisioning   where a volume can be made for it
    searching      the rule itself, for all nodes at once
    scoring        how full the storage would be
    binding        reserving a node's volumes, writing them to the API server
    waiting        whether what was written has come true
    hints          which events help a refused pod

Law of the package: deciding reads the assumed state and changes nothing; only Reserve assumes; only
PreBind writes.
"""

from moorage.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding"]
