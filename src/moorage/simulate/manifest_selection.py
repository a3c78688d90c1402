"""The manifests that scheduling reads, each object once; what is left out is said in one line."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from moorage.config.field_errors import InputError
from moorage.memory import manifest_loader
from moorage.simulate import simulated_feeds, size_limits
from moorage.simulate.manifest_files import Manifest

_ENCODER: Final = msgspec.msgpack.Encoder()
_PROMETHEUS_RULES: Final = {"groups"}
"""The fields of a file of rules, which is no object and often stands beside some."""
ObjectKey = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


def select_readable(
    found: Iterable[Manifest], skipped: list[str], *, strict: bool = False
) -> list[Manifest]:
    """The manifests that scheduling reads; with `strict`, any other is an error.

    `skipped` gets a line for what is left out, and for what is not taken as it is written.
    """
    selection = _Selection()
    unread: list[Manifest] = []
    for manifest in found:
        if not manifest.kind and manifest.raw.keys() != _PROMETHEUS_RULES:
            selection.refuse(manifest, "kind: missing")
        elif is_read(manifest):
            selection.keep(manifest)
        elif complaint := manifest_loader.version_complaint(manifest.raw):
            selection.refuse(manifest, complaint)
        elif strict:
            what = f"{_kind(manifest)} {manifest.name}".rstrip()
            selection.refuse(manifest, f"{what} is not read by scheduling (--strict)")
        else:
            unread.append(manifest)
    if selection.problems:
        raise InputError(selection.problems)
    if unread:
        skipped.append(_line(unread))
    if selection.outdated:
        skipped.append(_outdated_line(selection.outdated))
    if selection.copies:
        skipped.append(_copies_line(selection.copies))
    return selection.kept


def is_read(manifest: Manifest) -> bool:
    """Whether the embedded cluster stores an object, or a feed reads it."""
    kept = manifest_loader.find_resource(manifest.raw)
    return kept is not None or simulated_feeds.is_read_by_feeds(manifest.raw)


def object_key(manifest: Manifest) -> ObjectKey:
    """The identity of an object within a cluster."""
    metadata = manifest.raw.get("metadata")
    group = str(manifest.raw.get("apiVersion") or "").rpartition("/")[0]
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return group, manifest.kind, str(namespace or "default"), manifest.name


def _kind(unread: Manifest) -> str:
    return unread.kind or "Prometheus rules"


def _line(unread: list[Manifest]) -> str:
    counts = Counter(
        f"{_kind(each)} ({each.raw.get('apiVersion') or 'no apiVersion'})" for each in unread
    )
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    return f"not read by scheduling, skipped: {kinds}"


class _Selection:
    """The manifests kept so far, the problems, and the first manifest of each uid."""

    def __init__(self) -> None:
        self.kept: list[Manifest] = []
        self.problems: list[str] = []
        self.copies: list[tuple[Manifest, Manifest]] = []
        """Each object whose uid an earlier object has, and that earlier object."""
        self.outdated: list[tuple[Manifest, str]] = []
        """Each object of a version that its group does not have, and the complaint."""
        self._seen: dict[ObjectKey, Manifest] = {}
        self._uids: dict[str, Manifest] = {}

    def refuse(self, manifest: Manifest, why: str) -> None:
        self.problems.append(f"{manifest.place}: {why}")

    def keep(self, manifest: Manifest) -> None:
        metadata = manifest.raw.get("metadata")
        named = isinstance(metadata, dict) and (
            metadata.get("name") or metadata.get("generateName")
        )
        if not isinstance(metadata, dict) or not named:
            return self.refuse(manifest, f"{manifest.kind}: metadata.name: missing")
        what = f"{manifest.kind} {manifest.name}"
        key = object_key(manifest)
        first = self._seen.get(key) if manifest.name else None
        if first is not None:
            return self.refuse(manifest, f"{what} is already in {first.place}")
        try:
            _ENCODER.encode(manifest.raw)
        except OverflowError:
            return self.refuse(manifest, f"{what}: a number in it does not fit into 64 bits")
        if too_large := size_limits.size_complaint(manifest.raw):
            return self.refuse(manifest, f"{what}: {too_large}")
        if complaint := manifest_loader.version_complaint(manifest.raw):
            self.outdated.append((manifest, complaint))
        self._seen[key] = manifest
        self.kept.append(self._with_own_uid(manifest, metadata))

    def _with_own_uid(self, manifest: Manifest, metadata: dict[str, Any]) -> Manifest:
        """The object, without its uid if it is a copy: it gets its own, as from an API server."""
        uid = metadata.get("uid")
        first = self._uids.setdefault(uid, manifest) if isinstance(uid, str) and uid else manifest
        if first is manifest:
            return manifest
        self.copies.append((manifest, first))
        own = {field: value for field, value in metadata.items() if field != "uid"}
        return manifest._replace(raw={**manifest.raw, "metadata": own})


def _outdated_line(outdated: list[tuple[Manifest, str]]) -> str:
    first, complaint = outdated[0]
    others = f" and {len(outdated) - 1} more" if len(outdated) > 1 else ""
    return f"{first.place}{others}: {complaint}; taken as that"


def _copies_line(copies: list[tuple[Manifest, Manifest]]) -> str:
    copy, first = copies[0]
    more = f", and {len(copies) - 1} more are copies, too" if len(copies) > 1 else ""
    return (
        f"{copy.place}: {copy.kind} {copy.name} has the metadata.uid of {first.kind} {first.name} "
        f"in {first.place}{more}: copies are given uids of their own, as by an API server"
    )
