"""What every operation works with: store, options, and generated uids, names and times."""

import datetime
import random
from typing import Final, NamedTuple

import msgspec

from moorage.clock import Clock
from moorage.memory import error_messages
from moorage.memory.admission_plugins import AdmissionPlugins
from moorage.memory.pod_admission import PodSpecAdmission
from moorage.memory.stored_objects import Entry
from moorage.memory.validation.object_validation import ObjectValidation
from moorage.memory.versioned_store import Store, Table
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_NAME_LENGTH: Final = 63


class Stamps:
    """Identities from a seedable generator and times from a clock."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._second = -1
        self._text = ""
        self._given: set[str] = set()

    def keep_uid(self, uid: str) -> None:
        """Never make this one: an object came with it, perhaps from a run of the same seed."""
        self._given.add(uid)

    def uid(self) -> str:
        """A version 4 UUID that no object came with."""
        while True:
            bits = self._rng.getrandbits(128)
            bits = bits & ~(0xF000 << 64) & ~(0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
            text = f"{bits:032x}"
            uid = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
            if uid not in self._given:
                return uid

    def name(self, prefix: str) -> str:
        """A name from `generateName`: the prefix and five letters or digits that spell nothing."""
        suffix = "".join(self._rng.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))
        return prefix[: _NAME_LENGTH - _SUFFIX_LENGTH] + suffix

    def now(self) -> str:
        """The time in the seconds-only form of API objects."""
        second = int(self._clock.now())
        if second != self._second:
            self._second, self._text = second, rfc3339(second)
        return self._text

    def seconds(self) -> int:
        """The time in whole seconds since the epoch."""
        return int(self._clock.now())


def rfc3339(second: int) -> str:
    """A time as API objects write it."""
    return datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> int:
    """The seconds since the epoch that `rfc3339` wrote."""
    return int(datetime.datetime.fromisoformat(text).timestamp())


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the embedded cluster is set up."""

    history: int = 100_000
    """Changes kept per resource; a watcher further behind is told `Gone`."""
    events: int = 10_000
    """Events (events.k8s.io) kept; older ones are removed."""
    auto_namespaces: bool = True
    """Create a missing namespace with its first object, where an API server answers 404."""
    bookmark_seconds: float = 60.0
    """How often a watch that has a time limit is sent a bookmark."""
    admission: bool = False
    """Run the admission plugins of a real API server (`admission_plugins`)."""
    validate: bool = False
    """Refuse what an API server refuses, and note fields that nobody knows."""
    snapshots: int = 8
    """Paged lists that may be under way at once; the oldest one's tokens expire first."""


class ObjectRegistry(NamedTuple):
    """The store, what it stamps objects with, the pod specs it has seen, and its options."""

    store: Store
    stamps: Stamps
    specs: PodSpecAdmission
    validation: ObjectValidation
    admission: AdmissionPlugins
    options: ClusterOptions

    def find(self, resource: Resource, namespace: str, name: str) -> tuple[Table, Entry]:
        """An object and the table it is in; `NotFound` otherwise."""
        table = self.store.table(resource)
        entry = table.entries.get(resource.key(namespace, name))
        if entry is None:
            raise error_messages.not_found(resource, name)
        return table, entry


def deep_copy(raw: Raw) -> Raw:
    """A copy that shares nothing, as if it had travelled over the wire."""
    copy: Raw = msgspec.json.decode(msgspec.json.encode(raw))
    return copy
