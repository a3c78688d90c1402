"""A recording with names, labels, namespaces and images replaced, and every decision the same.

1. All entries are read once, to collect every name.
2. They are read again, their names are replaced, and they are played back while they are written.
   Each attempt is repeated on the replaced objects. It must choose the same node with the same
   points, or the same plugins must refuse as many nodes; otherwise the recording is not written.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from moorage.api.kinds import KINDS
from moorage.config.field_errors import InputError
from moorage.recording import entries
from moorage.recording.anonymous_objects import anonymous, plain_value
from moorage.recording.configuration import NO_PLUGINS, LoadedPlugins
from moorage.recording.entries import (
    AnyEntry,
    Attempt,
    Entry,
    ExtenderSaid,
    Failed,
    Outcome,
    Placed,
    Refused,
    encode,
)
from moorage.recording.pseudonyms import Pseudonyms
from moorage.recording.replay import Made, Replay
from moorage.recording.segments import Recording

WOULD_DIFFER = (
    "attempt {}: without names it would come out otherwise ({}): the recording was not made "
    "anonymous; hand on a cut of it that ends before, or ask for it to be looked at"
)


def anonymous_entries(folder: Path, plugins: LoadedPlugins = NO_PLUGINS) -> Iterator[Entry]:
    """The entries of a recording, with every name replaced."""
    names = Pseudonyms(_configured_names(Recording(folder).entries()))
    for entry in Recording(folder).entries():
        _replaced(entry, names)
    names.settle()
    made: list[Made] = []
    replay = Replay(plugins.profiles, made.append)
    for entry in Recording(folder).entries():
        changed = _replaced(entry, names)
        replay.apply(changed)
        if isinstance(entry, Attempt) and made:
            yield _checked(entry, made.pop(), names)
        elif not isinstance(entry, Attempt):
            yield changed


def _configured_names(found: Iterable[AnyEntry]) -> Iterator[str]:
    for entry in found:
        if isinstance(entry, entries.Configured):
            for document in yaml.safe_load_all(entry.text):
                yield from _texts(document)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _checked(entry: Attempt, made: Made, names: Pseudonyms) -> Attempt:
    """The attempt, with its outcome on the anonymous objects."""
    if _shape(entry.outcome, names) != _shape(made.outcome, None):
        raise InputError([WOULD_DIFFER.format(entry.id, type(entry.outcome).__name__.lower())])
    return msgspec.structs.replace(made.entry, outcome=made.outcome)


def _shape(outcome: Outcome, names: Pseudonyms | None) -> Any:
    """The part of an outcome that must be the same: everything but messages."""

    def name(text: str) -> str:
        return text if names is None else names.name(text)

    match outcome:
        case Placed(node, score, feasible, evaluated, parts):
            return name(node), score, feasible, evaluated, parts
        case Refused(verdicts, _, nominated, victims):
            counts = sorted((plugin, count) for plugin, _, count in verdicts)
            room = None if nominated is None else name(nominated)
            return counts, room, [name(uid) for uid in victims]
        case Failed(_, plugin, point):
            return plugin, point


def _replaced(entry: AnyEntry, names: Pseudonyms) -> Any:
    """The entry with every name replaced."""
    match entry:
        case entries.PodSeen(pod):
            return entries.PodSeen(anonymous(pod, names))
        case entries.NodePut(node):
            return entries.NodePut(anonymous(node, names))
        case entries.ObjectPut(kind, raw):
            found = msgspec.msgpack.decode(raw, type=KINDS[kind].struct)
            return entries.ObjectPut(kind, msgspec.Raw(encode(anonymous(found, names))))
        case entries.ClaimAssumed(raw, is_new):
            claim = msgspec.msgpack.decode(raw, type=KINDS["ResourceClaim"].struct)
            return entries.ClaimAssumed(msgspec.Raw(encode(anonymous(claim, names))), is_new)
        case entries.ObjectGone(kind, key):
            return entries.ObjectGone(kind, names.key(key))
        case entries.ClaimSettled(uid, key):
            return entries.ClaimSettled(names.name(uid), names.key(key))
        case entries.Noted(what, profile, value):
            return entries.Noted(what, profile, plain_value(value, names))
        case entries.Arranged(order, starts):
            return entries.Arranged(tuple(map(names.name, order)), starts)
        case Attempt():
            answers = tuple(_answer(each, names) for each in entry.answers)
            return msgspec.structs.replace(entry, uid=names.name(entry.uid), answers=answers)
        case _:
            return _with_plain_names(entry, names)


def _answer(said: ExtenderSaid, names: Pseudonyms) -> ExtenderSaid:
    answer = _named(said.answer, names)
    error = said.error and "the extender failed"
    return msgspec.structs.replace(said, answer=answer, error=error)


def _named(value: Any, names: Pseudonyms) -> Any:
    if isinstance(value, dict):
        return {names.name(key): _named(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_named(each, names) for each in value]
    return names.name(value) if isinstance(value, str) else value


def _with_plain_names(entry: Any, names: Pseudonyms) -> Any:
    """Entries that refer to pods and nodes by `uid`, `node` and `name`."""
    fields = {field: getattr(entry, field, None) for field in ("uid", "node", "name")}
    given = {field: names.name(text) for field, text in fields.items() if isinstance(text, str)}
    return msgspec.structs.replace(entry, **given) if given else entry
