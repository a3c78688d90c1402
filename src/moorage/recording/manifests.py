"""The cluster at a moment of a recording, or one without names, as manifests."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from moorage.api.cluster_objects import ReplicaSet, ReplicationController, StatefulSet
from moorage.api.decode import decode_object
from moorage.api.kinds import KINDS, find
from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.recording.anonymous_objects import anonymous
from moorage.recording.pseudonyms import Pseudonyms
from moorage.recording.replay import Replay
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]
WORKLOADS: Final = (ReplicaSet, ReplicationController, StatefulSet)


def manifests_at(replay: Replay) -> list[Manifest]:
    """Every object in the cache of a replay; assumed pods are on their nodes."""
    return [Manifest(raw, "the recording", number) for number, raw in enumerate(_raws(replay), 1)]


def anonymous_manifests(raws: Iterable[Raw], kept: Iterable[str] = ()) -> Iterator[Raw]:
    """What decisions depend on of a cluster, with its names replaced as in a recording.

    Fields and kinds that scheduling does not read are left out, so nothing of them can be given
    away. A workload is kept where it has pods, whose template is made from one of them. Texts that
    are `kept` stay.
    """
    read = [(each, decode_object(each)) for each in raws if find(each["apiVersion"], each["kind"])]
    names = Pseudonyms(kept)
    for _, obj in read:
        anonymous(obj, names)
    names.settle()
    changed = [(raw["apiVersion"], anonymous(obj, names)) for raw, obj in read]
    templates = _templates(obj for _, obj in changed if isinstance(obj, Pod))
    for api_version, obj in changed:
        raw = _raw(obj) | {"apiVersion": api_version}
        if isinstance(obj, WORKLOADS) and obj.uid not in templates:
            continue
        yield _with_template(raw, templates.get(obj.uid))


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
