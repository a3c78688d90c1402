"""The RuntimeClass admission plugin: overhead, node selector and tolerations of a runtime."""

from moorage.memory import error_messages
from moorage.memory.object_store import Table
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw


def with_runtime_class(classes: Table, metadata: Raw, spec: Raw) -> Raw:
    """The spec with what its RuntimeClass adds; or a refusal."""
    name = spec.get("runtimeClassName")
    if not name:
        return spec
    entry = classes.entries.get(name)
    if entry is None:
        raise error_messages.forbidden(
            PODS, metadata, f'pod rejected: RuntimeClass "{name}" not found'
        )
    filled = {**spec}
    overhead = (entry.raw.get("overhead") or {}).get("podFixed")
    if spec.get("overhead") not in (None, {}, overhead):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise error_messages.forbidden(PODS, metadata, why)
    if overhead:
        filled["overhead"] = overhead
    scheduling = entry.raw.get("scheduling") or {}
    filled["nodeSelector"] = _merged(metadata, spec, scheduling.get("nodeSelector") or {})
    added = scheduling.get("tolerations") or ()
    known = spec.get("tolerations") or []
    filled["tolerations"] = [*known, *(each for each in added if each not in known)]
    return filled


def _merged(metadata: Raw, spec: Raw, selector: dict[str, str]) -> dict[str, str]:
    own = spec.get("nodeSelector") or {}
    for key, value in selector.items():
        if own.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
            raise error_messages.forbidden(PODS, metadata, why)
    return {**own, **selector}
