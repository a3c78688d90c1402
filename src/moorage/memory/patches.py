"""JSON merge patches (RFC 7396) and Kubernetes' strategic merge patches.

Both leave the original object unchanged; the result shares with it what the patch does not change.
A strategic merge patch merges some lists, by a key or as sets, and replaces all others.
"""

from typing import Any, Final

from moorage.watch.api_errors import ServerError
from moorage.watch.api_server import Raw


def order_merged_list(
    items: list[Any], patch: list[Any], server: list[Any], key: str | None
) -> list[Any]:
    """The items of a merged list in the order an API server gives them.

    Items that the patch names are in the patch's order. The others are in the server's order. One
    of these precedes a named item only if it did so on the server.
    """
    wanted = {_identity(item, key): place for place, item in enumerate(patch)}
    known = {_identity(item, key): place for place, item in enumerate(server)}
    named = [item for item in items if _identity(item, key) in wanted]
    named.sort(key=lambda item: wanted[_identity(item, key)])
    others = [item for item in items if _identity(item, key) not in wanted]
    merged: list[Any] = []
    for item in named:
        place = known.get(_identity(item, key), -1)
        while others and known.get(_identity(others[0], key), place) < place:
            merged.append(others.pop(0))
        merged.append(item)
    return merged + others


def _identity(item: Any, key: str | None) -> Any:
    return item if key is None else item.get(key)


MERGE_KEYS: Final[dict[str, str]] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "drivers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "reservedFor": "uid",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_PORT_KEYS: Final = ("containerPort", "port")
_SETS: Final = frozenset({"finalizers"})
_DELETE_FROM_SET: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def json_merge_patch(target: Any, patch: Any) -> Any:
    """The target after a JSON merge patch: null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return patch
    merged = {**target} if isinstance(target, dict) else {}
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = json_merge_patch(merged.get(field), value)
    return merged


def strategic_merge_patch(target: Raw, patch: Raw) -> Raw:
    """The target after a strategic merge patch."""
    directive = patch.get("$patch")
    if directive == "replace":
        return {field: value for field, value in patch.items() if field != "$patch"}
    if directive == "delete":
        return {}
    merged = {**target}
    for field, value in patch.items():
        if not field.startswith("$"):
            _merge_field(merged, field, value)
    for field, value in patch.items():
        if field.startswith(_DELETE_FROM_SET):
            name = field.removeprefix(_DELETE_FROM_SET)
            merged[name] = [each for each in merged.get(name) or () if each not in value]
        elif field.startswith(_ORDER):
            _reorder(merged, target, field.removeprefix(_ORDER), value)
        elif field == "$retainKeys":
            merged = {name: merged[name] for name in merged if name in value}
    return merged


def _merge_field(merged: Raw, field: str, value: Any) -> None:
    if value is None:
        merged.pop(field, None)
    elif isinstance(value, dict):
        old = merged.get(field)
        merged[field] = strategic_merge_patch(old if isinstance(old, dict) else {}, value)
    elif isinstance(value, list):
        merged[field] = _merge_list(field, merged.get(field) or [], value)
    else:
        merged[field] = value


def _merge_list(field: str, old: list[Any], patch: list[Any]) -> list[Any]:
    key = _merge_key(field, [*patch, *old])
    if field in _SETS:
        merged = [*old, *(each for each in patch if each not in old)]
    elif key is None:
        return patch
    elif any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    else:
        merged = _merge_by_key(key, old, patch)
    return order_merged_list(merged, patch, old, key)


def _merge_key(field: str, items: list[Any]) -> str | None:
    if field == "ports":
        present = {name for item in items if isinstance(item, dict) for name in item}
        return next((key for key in _PORT_KEYS if key in present), None)
    return MERGE_KEYS.get(field)


def _merge_by_key(key: str, old: list[Raw], patch: list[Raw]) -> list[Raw]:
    merged = {item.get(key): item for item in old}
    for item in patch:
        if key not in item:
            raise ServerError(f"map: {item} does not contain declared merge key: {key}")
        if item.get("$patch") == "delete":
            merged.pop(item[key], None)
        else:
            merged[item[key]] = strategic_merge_patch(merged.get(item[key], {}), item)
    return list(merged.values())


def _reorder(merged: Raw, target: Raw, field: str, order: list[Any]) -> None:
    if items := merged.get(field):
        key = _merge_key(field, [*order, *items])
        merged[field] = order_merged_list(items, order, target.get(field) or [], key)
