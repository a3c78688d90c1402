"""Label keys and label values: what Kubernetes accepts, and its words for what it does not."""

from typing import Final

from moorage.api.names import label_key_faults, label_value_faults

__all__ = ["is_extended_resource", "label_key_faults", "label_value_faults"]

_REQUESTS: Final = "requests."


def is_extended_resource(name: str) -> bool:
    """Say whether a qualified name can be that of an extended resource."""
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native or name.startswith(_REQUESTS):
        return False
    return not label_key_faults(_REQUESTS + name)
