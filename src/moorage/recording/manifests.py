"""The cluster at a moment of a recording, as manifests."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.api.kinds import KINDS
from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.recording.replay import Replay
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]


def manifests_at(replay: Replay) -> list[Manifest]:
    """Every object in the cache of a replay; assumed pods are on their nodes."""
    return [Manifest(raw, "the recording", number) for number, raw in enumerate(_raws(replay), 1)]


def _raws(replay: Replay) -> Iterator[Raw]:
    cache = replay.cache
    for row in cache.table.row_of.values():
        yield _raw(cache.table.node(row))
    templates = _templates(info.pod for info in replay.pods.values())
    for kind in cache.objects.kinds():
        for found in cache.objects.all(kind):
            yield _with_template(_raw(found), templates.get(found.uid))
    for uid, info in replay.pods.items():
        node = cache.node_of(uid)
        spec = info.pod.spec if node is None else _on(info.pod.spec, node)
        yield _raw(msgspec.structs.replace(info.pod, spec=spec))


def _templates(pods: Iterable[Pod]) -> dict[str, Raw]:
    """Pod templates by the uid of the controller, derived from its pods.

    A recording has no templates, and without one a simulation could not recreate an evicted pod.
    A pod with claims is not used, because the claims may be its own, as in a StatefulSet.
    """
    found: dict[str, Raw] = {}
    for pod in pods:
        owner = pod.owner
        if owner is not None and not any(
            volume.persistent_volume_claim for volume in pod.spec.volumes
        ):
            spec = msgspec.structs.replace(pod.spec, node_name="")
            body = {"metadata": {"labels": pod.labels}, "spec": spec}
            found.setdefault(owner.uid, msgspec.to_builtins(body))
    return found


def _with_template(raw: Raw, template: Raw | None) -> Raw:
    return raw if template is None else {**raw, "spec": {**raw["spec"], "template": template}}


def _on(spec: Any, node: str) -> Any:
    return msgspec.structs.replace(spec, node_name=node)


def _raw(obj: KubeObject) -> Raw:
    kind = KINDS[type(obj).__name__]
    body = msgspec.to_builtins(obj)
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}
