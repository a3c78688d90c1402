"""The cluster at a moment of a recording, as manifests."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.api.kinds import KINDS
from moorage.api.meta import KubeObject
from moorage.recording.replay import Replay
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]


def manifests_at(replay: Replay) -> list[Manifest]:
    """Every object as it is believed; pods that are about to be bound are on their nodes."""
    return [Manifest(raw, "the recording", number) for number, raw in enumerate(_raws(replay), 1)]


def _raws(replay: Replay) -> Iterator[Raw]:
    cache = replay.cache
    for row in cache.table.row_of.values():
        yield _raw(cache.table.node(row))
    for kind in cache.objects.kinds():
        for found in cache.objects.all(kind):
            yield _raw(found)
    for uid, info in replay.pods.items():
        node = cache.node_of(uid)
        spec = info.pod.spec if node is None else _on(info.pod.spec, node)
        yield _raw(msgspec.structs.replace(info.pod, spec=spec))


def _on(spec: Any, node: str) -> Any:
    return msgspec.structs.replace(spec, node_name=node)


def _raw(obj: KubeObject) -> Raw:
    kind = KINDS[type(obj).__name__]
    body = msgspec.to_builtins(obj)
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}
