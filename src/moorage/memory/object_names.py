"""Names of new objects: generated on request; what an API server says against one."""

from typing import Final

from moorage.api import name_validation
from moorage.memory import error_messages
from moorage.memory.object_registry import ObjectRegistry
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

NAME_ATTEMPTS: Final = 8
_NAMED_BY_LABEL: Final = frozenset(("namespaces", "services", "statefulsets"))
"""Names of these are DNS labels. Names of all others are DNS subdomains."""


def give_name(registry: ObjectRegistry, resource: Resource, metadata: Raw) -> str:
    """The key of a new object, whose name is not checked; a missing one is generated."""
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not name and not prefix:
        detail = "name or generateName is required"
        raise error_messages.invalid(resource, "", error_messages.required("metadata.name", detail))
    taken, namespace = registry.store.table(resource).entries, metadata.get("namespace", "")
    for _ in range(1 if name else NAME_ATTEMPTS):
        chosen = name or registry.stamps.name(prefix)
        key = resource.key(namespace, chosen)
        if key not in taken:
            break
    else:
        raise error_messages.already_exists(resource, chosen, generated=not name)
    metadata["name"] = chosen
    return key


def name_causes(resource: Resource, name: str) -> list[str]:
    """What makes a name invalid for the resource."""
    label = resource.plural in _NAMED_BY_LABEL
    faults = name_validation.dns_label_faults if label else name_validation.subdomain_faults
    return [error_messages.invalid_value("metadata.name", name, fault) for fault in faults(name)]
