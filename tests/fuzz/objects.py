"""The objects of one batch, as lines of watches: drawn from grammars, mutated, and valid."""

import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from moorage.api.decode import UNREADABLE
from moorage.api.kinds import KINDS
from moorage.explain.evaluator import KINDS as CASE_KINDS
from moorage.watch.api_resources import RESOURCES, Resource
from tests.differential.features import FEATURES
from tests.differential.generating import generate
from tests.fuzz.grammar import Grammar
from tests.fuzz.mutation import mutated, mutated_bytes

Raw = dict[str, Any]

FIELDS: Final = {**CASE_KINDS, "nodes": "Node", "pods": "Pod"}
BY_KIND: Final = {resource.kind: resource for resource in RESOURCES.values()}
DRAWN: Final = tuple(kind for kind in KINDS if kind != "ConfigMap")
GROUPS: Final = ("group-0", "group-1")


class Input(NamedTuple):
    """One line of the watch of a resource."""

    resource: Resource
    line: bytes


class ObjectStream:
    """Inputs of one batch, which is a small cluster that is added to, changed and taken away."""

    def __init__(self, seed: int, number: int) -> None:
        self._rng = random.Random(f"{seed}/{number}/objects")
        oddness = self._rng.choice((0.0, 0.03, 0.15, 0.5))
        self._grammar = Grammar(self._rng, oddness)
        self._dirt = self._rng.choice((0.1, 0.3, 0.7))
        self._version = 1
        self._seen: list[tuple[str, Raw]] = []
        self._valid = iter(_valid(seed, number, self._rng))

    def __iter__(self) -> Iterator[Input]:
        return self

    def __next__(self) -> Input:
        self._version += 1
        kind, raw = self._object()
        way = self._rng.random()
        if way < 0.12 and self._seen:
            kind, raw = self._rng.choice(self._seen)
            return self._line("DELETED", kind, raw)
        if way < 0.35 and self._seen:
            kind, raw = self._rng.choice(self._seen)
            raw = mutated(raw, self._rng, self._grammar)
        self._seen.append((kind, raw))
        return self._line("MODIFIED", kind, raw)

    def _object(self) -> tuple[str, Raw]:
        rng, found = self._rng, next(self._valid, None)
        if found is None or rng.random() < 0.25:
            kind = rng.choice((*DRAWN, "Pod", "Pod", "Node", "PodGroup"))
            raw = self._grammar.struct(KINDS[kind].struct)
            return kind, raw | {"metadata": self._metadata(kind, raw)}
        kind, raw = found
        return kind, mutated(raw, rng, self._grammar) if rng.random() < self._dirt else raw

    def _metadata(self, kind: str, raw: Raw) -> Raw:
        """Names that meet those of other objects."""
        rng = self._rng
        namespace = (
            {"namespace": rng.choice(("default", "team-a"))} if KINDS[kind].namespaced else {}
        )
        meta = raw.get("metadata") or {}
        return (
            meta
            | {"name": f"{kind.lower()}-{rng.randint(0, 4)}", "uid": f"{kind}-{rng.random()}"}
            | namespace
        )

    def _line(self, type_: str, kind: str, raw: Raw) -> Input:
        meta = raw.get("metadata")
        if isinstance(meta, dict):
            raw = {**raw, "metadata": {**meta, **self._servers_own(kind, meta)}}
        line = msgspec.json.encode({"type": type_, "object": raw})
        if self._rng.random() < 0.01:
            line = self._with_own_uid(kind, mutated_bytes(line, self._rng))
        return Input(BY_KIND[kind], line)

    def _with_own_uid(self, kind: str, line: bytes) -> bytes:
        """Where the bytes of a name have changed it is another object, and has another uid."""
        try:
            event = msgspec.json.decode(line)
            meta = event["object"]["metadata"]
            meta.update(self._servers_own(kind, meta))
        except (*UNREADABLE, LookupError, TypeError, AttributeError):
            return line
        return msgspec.json.encode(event)

    def _servers_own(self, kind: str, meta: Raw) -> Raw:
        """What the API server sets, whatever others write."""
        uid = f"{kind}/{meta.get('namespace')}/{meta.get('name')}"
        return {"uid": uid, "resourceVersion": str(self._version)}


def _valid(seed: int, number: int, rng: random.Random) -> Iterator[tuple[str, Raw]]:
    """The objects of a differential case, with gangs among its pods; more of its waiting pod."""
    case, _ = generate(seed, number, tuple(FEATURES), small=rng.random() < 0.5)
    for field, kind in FIELDS.items():
        for raw in case.get(field) or ():
            yield kind, raw
    for name in GROUPS:
        meta = {"name": name, "namespace": "default", "uid": name}
        yield "PodGroup", {"metadata": meta, "spec": {"minMember": rng.randint(1, 4)}}
    quota = {"min": {"cpu": "1"}, "max": {"cpu": "20"}}
    yield (
        "ElasticQuota",
        {"metadata": {"name": "q", "namespace": "team-a", "uid": "q"}, "spec": quota},
    )
    for copy in range(40):
        yield "Pod", _waiting(case["pod"], copy, rng)


def _waiting(pod: Raw, copy: int, rng: random.Random) -> Raw:
    meta = dict(pod["metadata"]) | {"name": f"w{copy}", "uid": f"w{copy}"}
    if rng.random() < 0.3:
        group = {"scheduling.x-k8s.io/pod-group": rng.choice(GROUPS)}
        meta |= {"namespace": "default", "labels": {**(meta.get("labels") or {}), **group}}
    return {**pod, "metadata": meta}
