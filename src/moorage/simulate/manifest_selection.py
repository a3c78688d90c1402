"""The manifests that scheduling reads, each object once; what is left out is said in one line."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from moorage.config.field_errors import InputError
from moorage.memory import manifest_loader
from moorage.simulate import simulated_feeds
from moorage.simulate.manifest_files import Manifest

_ENCODER: Final = msgspec.msgpack.Encoder()
ObjectKey = tuple[str, str, str, str]
"""Group, kind, namespace and name."""
Seen = dict[ObjectKey, Manifest]


def select_readable(
    found: Iterable[Manifest], skipped: list[str], *, strict: bool = False
) -> list[Manifest]:
    """Those that scheduling reads; with `strict` all others are refused."""
    kept: list[Manifest] = []
    problems: list[str] = []
    unread: list[Manifest] = []
    seen: Seen = {}
    for manifest in found:
        if not manifest.kind:
            problems.append(f"{manifest.place}: kind: missing")
        elif is_read(manifest):
            _keep(manifest, seen, kept, problems)
        elif strict:
            what = f"{manifest.kind} {manifest.name} is not read by scheduling (--strict)"
            problems.append(f"{manifest.place}: {what}")
        else:
            unread.append(manifest)
    if problems:
        raise InputError(problems)
    if unread:
        skipped.append(_line(unread))
    return kept


def is_read(manifest: Manifest) -> bool:
    """Whether the embedded cluster, or a feed, has a use for an object."""
    kept = manifest_loader.find_resource(manifest.raw)
    return kept is not None or simulated_feeds.is_read_by_feeds(manifest.raw)


def object_key(manifest: Manifest) -> ObjectKey:
    """What tells an object from all others of a cluster."""
    metadata = manifest.raw.get("metadata")
    group = str(manifest.raw.get("apiVersion") or "").rpartition("/")[0]
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return group, manifest.kind, str(namespace or "default"), manifest.name


def _line(unread: list[Manifest]) -> str:
    counts = Counter(
        f"{each.kind} ({each.raw.get('apiVersion') or 'no apiVersion'})" for each in unread
    )
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    return f"not read by scheduling, skipped: {kinds}"


def _keep(manifest: Manifest, seen: Seen, kept: list[Manifest], problems: list[str]) -> None:
    metadata = manifest.raw.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        problems.append(f"{manifest.place}: {manifest.kind}: metadata.name: missing")
        return
    key = object_key(manifest)
    first = seen.get(key) if manifest.name else None
    if first is not None:
        problems.append(
            f"{manifest.place}: {manifest.kind} {manifest.name} is already in {first.place}"
        )
        return
    try:
        _ENCODER.encode(manifest.raw)
    except OverflowError:
        what = f"{manifest.kind} {manifest.name}"
        problems.append(f"{manifest.place}: {what}: a number in it does not fit into 64 bits")
        return
    seen[key] = manifest
    kept.append(manifest)
