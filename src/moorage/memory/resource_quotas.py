"""The ResourceQuota admission plugin: limits the total that pods of a namespace request.

It counts pods, and their requests and limits. Quotas of other objects, and quotas with scopes, are
not enforced.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from moorage.api import quantity
from moorage.memory import error_messages
from moorage.memory.cluster_resources import RESOURCE_QUOTAS
from moorage.memory.versioned_store import Record, Store, Table
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

_COUNTS: Final = ("pods", "count/pods")
_BARE: Final = ("cpu", "memory", "ephemeral-storage")
Amounts = dict[str, int]
"""Amounts in thousandths, by the names that quotas use."""


def is_enforced(quota: Raw) -> bool:
    """Whether a quota is enforced here."""
    spec = quota.get("spec") or {}
    return not spec.get("scopes") and not spec.get("scopeSelector")


class ResourceQuotas:
    """Counts what the pods of each namespace use, and refuses pods beyond a quota."""

    def __init__(self, store: Store) -> None:
        self._quotas = store.table(RESOURCE_QUOTAS)
        self._used: dict[str, Amounts] = defaultdict(lambda: defaultdict(int))
        self._counted: dict[str, Amounts] = {}
        store.listen(self._follow)

    def admit(self, metadata: Raw, spec: Raw) -> None:
        """Refuse a new pod that would exceed a quota of its namespace."""
        prefix = f"{metadata['namespace']}/"
        quotas = [
            entry.raw
            for key, entry in self._quotas.entries.items()
            if key.startswith(prefix) and is_enforced(entry.raw)
        ]
        asked = usage(spec) if quotas else {}
        for quota in quotas:
            self._check(metadata, spec, quota, asked)

    def _check(self, metadata: Raw, spec: Raw, quota: Raw, asked: Amounts) -> None:
        hard = {k: str(v) for k, v in ((quota.get("spec") or {}).get("hard") or {}).items()}
        name = quota["metadata"]["name"]
        if missing := _unspecified(spec, hard):
            why = f"failed quota: {name}: must specify {missing}"
            raise error_messages.forbidden(PODS, metadata, why)
        used = self._used[metadata["namespace"]]
        over = [
            limit
            for limit in sorted(hard)
            if asked.get(limit) and used[limit] + asked[limit] > _milli(hard[limit])
        ]
        if over:
            why = (
                f"exceeded quota: {name}, requested: {_told(asked, over)}, "
                f"used: {_told(used, over)}, "
                f"limited: {','.join(f'{limit}={hard[limit]}' for limit in over)}"
            )
            raise error_messages.forbidden(PODS, metadata, why)

    def _follow(self, table: Table, record: Record) -> None:
        if table.resource != PODS or not self._quotas.entries:
            return
        raw, key = record.entry.raw, record.entry.key
        used = self._used[raw["metadata"]["namespace"]]
        for name, value in self._counted.pop(key, {}).items():
            used[name] -= value
        phase = (raw.get("status") or {}).get("phase")
        if record.type != "DELETED" and phase not in ("Succeeded", "Failed"):
            self._counted[key] = usage(raw["spec"])
            for name, value in self._counted[key].items():
                used[name] += value


def usage(spec: Raw) -> Amounts:
    """A pod's usage: one pod, and the larger of its containers' sum and its init containers."""
    found: Amounts = dict.fromkeys(_COUNTS, 1000)
    for part in ("requests", "limits"):
        running: Amounts = defaultdict(int)
        for container in spec.get("containers") or ():
            for name, value in _part(container, part).items():
                running[name] += _milli(value)
        for container in spec.get("initContainers") or ():
            for name, value in _part(container, part).items():
                running[name] = max(running[name], _milli(value))
        for name, value in (spec.get("overhead") or {}).items():
            running[name] += _milli(value)
        for name, total in running.items():
            found[f"{part}.{name}"] = total
            if part == "requests" and name in _BARE:
                found[name] = total
    return found


def _part(container: Raw, part: str) -> dict[str, Any]:
    return (container.get("resources") or {}).get(part) or {}


def _unspecified(spec: Raw, hard: Iterable[str]) -> str:
    """The quota's resources that a container does not set, with the containers' names."""
    missing = []
    for limit in sorted(hard):
        part, _, name = limit.partition(".")
        if limit in _BARE:
            part, name = "requests", limit
        if part not in ("requests", "limits") or name not in _BARE:
            continue
        silent = [
            str(container.get("name"))
            for container in spec.get("containers") or ()
            if name not in _part(container, part)
        ]
        if silent:
            missing.append(f"{limit} for: {','.join(silent)}")
    return "; ".join(missing)


def _milli(value: Any) -> int:
    return quantity.milli_value(str(value))


def _told(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={_text(name, amounts.get(name, 0))}" for name in names)


def _text(name: str, milli: int) -> str:
    if milli % 1000:
        return f"{milli}m"
    whole = milli // 1000
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if name.endswith(("memory", "storage")) and whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)
