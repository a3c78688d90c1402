"""Removes fields that may hold a secret, and that no scheduler reads, from live objects.

These are managedFields, the annotation of `kubectl apply`, and the environment, commands, probes
and hooks of containers.
"""

from collections.abc import Iterator
from typing import Any, Final

Raw = dict[str, Any]

_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_PRIVATE: Final = frozenset(("env", "envFrom", "command", "args", *_PROBES))


def remove_private_fields(raw: Raw) -> None:
    """Remove them from an object in place; the caller must own the object."""
    metadata = raw["metadata"]
    metadata.pop("managedFields", None)
    (metadata.get("annotations") or {}).pop(_ANNOTATION, None)
    for spec in _pod_specs(raw):
        for field in _CONTAINERS:
            for container in spec.get(field) or ():
                for private in _PRIVATE & container.keys():
                    del container[private]


def _pod_specs(raw: Raw) -> Iterator[Raw]:
    """The specs in an object that may be pod specs: its own, and those of its templates."""
    spec = raw.get("spec")
    if isinstance(spec, dict):
        yield spec
        for template in ("template", "jobTemplate"):
            yield from _pod_specs(spec.get(template) or {})
