"""What every operation uses: the store, the options, and uids, names and times."""

import datetime
import random
from hashlib import blake2b
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


def uid_of(plural: str, namespace: str, name: str, incarnation: int) -> str:
    """The uid of the object that has this name for the n-th time; n begins with 0.

    It has the form of a version 4 UUID, but is the same in every cluster, because draws among
    equals follow from the pod's uid.
    """
    text = f"{plural}/{namespace}/{name}/{incarnation}"
    half = blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{half[:8]}-{half[8:12]}-4{half[13:16]}-a{half[17:20]}-{half[20:]}"


class Stamps:
    """Uids, names from a seedable generator, and times from a clock."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._second = -1
        self._text = ""
        self._given: set[str] = set()
        self._incarnations: dict[tuple[str, str, str], int] = {}

    def keep_uid(self, uid: str) -> None:
        """Never give this uid: an object has it, perhaps from the cluster of another run."""
        self._given.add(uid)

    def uid(self, plural: str, namespace: str, name: str) -> str:
        """The uid for a new object, different from all kept ones."""
        incarnation = self._incarnations.get((plural, namespace, name), 0)
        while (uid := uid_of(plural, namespace, name, incarnation)) in self._given:
            incarnation += 1
        return uid

    def created(self, plural: str, namespace: str, name: str) -> None:
        """Note that the next object of this name is another one."""
        key = (plural, namespace, name)
        self._incarnations[key] = self._incarnations.get(key, 0) + 1

    def name(self, prefix: str) -> str:
        """A name for `generateName`: the prefix and five letters or digits that spell no words."""
        suffix = "".join(self._rng.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))
        return prefix[: _NAME_LENGTH - _SUFFIX_LENGTH] + suffix

    def now(self) -> str:
        """The time as API objects have it, in whole seconds."""
        second = int(self._clock.now())
        if second != self._second:
            self._second, self._text = second, rfc3339(second)
        return self._text

    def seconds(self) -> int:
        """The time in whole seconds since the epoch."""
        return int(self._clock.now())


def rfc3339(second: int) -> str:
    """A time in the format of API objects."""
    return datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> int:
    """The seconds since the epoch of a text that `rfc3339` wrote."""
    return int(datetime.datetime.fromisoformat(text).timestamp())


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the embedded cluster is set up."""

    history: int = 100_000
    """Changes kept per resource; a watcher further behind gets `Gone`."""
    events: int = 10_000
    """Events (events.k8s.io) kept; older ones are removed."""
    auto_namespaces: bool = True
    """Create a missing namespace with its first object. An API server would answer 404."""
    bookmark_seconds: float = 60.0
    """Seconds between the bookmarks of a watch that has a timeout."""
    admission: bool = False
    """Run the admission plugins of a real API server (`admission_plugins`)."""
    validate: bool = False
    """Refuse what an API server refuses, and warn of unknown fields."""
    snapshots: int = 8
    """Paged lists kept at the same time; the tokens of the oldest one expire first."""


class ObjectRegistry(NamedTuple):
    """The store, uids and times, the pod specs seen so far, and the options."""

    store: Store
    stamps: Stamps
    specs: PodSpecAdmission
    validation: ObjectValidation
    admission: AdmissionPlugins
    options: ClusterOptions

    def find(self, resource: Resource, namespace: str, name: str) -> tuple[Table, Entry]:
        """An object and its table; raises `NotFound` if there is none."""
        table = self.store.table(resource)
        entry = table.entries.get(resource.key(namespace, name))
        if entry is None:
            raise error_messages.not_found(resource, name)
        return table, entry


def deep_copy(raw: Raw) -> Raw:
    """A copy that shares nothing with the original."""
    copy: Raw = msgspec.json.decode(msgspec.json.encode(raw))
    return copy
