"""Removes from objects of a live cluster what may hold a secret and no scheduler reads.

managedFields, the annotation of `kubectl apply`, and of containers their environment, commands,
probes and hooks.
"""

from collections.abc import Iterator
from typing import Any, Final

Raw = dict[str, Any]

_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_PRIVATE: Final = frozenset(("env", "envFrom", "command", "args", *_PROBES))


def remove_private_fields(raw: Raw) -> None:
    """Take them out of an object that nobody else holds."""
    metadata = raw["metadata"]
    metadata.pop("managedFields", None)
    (metadata.get("annotations") or {}).pop(_ANNOTATION, None)
    for spec in _pod_specs(raw):
        for field in _CONTAINERS:
            for container in spec.get(field) or ():
                for private in _PRIVATE & container.keys():
                    del container[private]


def _pod_specs(raw: Raw) -> Iterator[Raw]:
    """The pod specs in an object: its own, and those of templates."""
    spec = raw.get("spec")
    if isinstance(spec, dict):
        yield spec
        for template in ("template", "jobTemplate"):
            yield from _pod_specs(spec.get(template) or {})
