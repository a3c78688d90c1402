"""The entries of a recording: each is an array that begins with the number of its type.

Version 3. Objects are written as the API server has them, without defaults, once for each version
that was received. Later entries refer to them by uid, key or name. The number of a removed type is
never used again.

    objects in the cache          PodSeen PodPut PodGone NodePut NodeGone ObjectPut ObjectGone
    decisions and bookings        Attempt Assumed Forgotten Nominated Denominated Resting Rested
                                  ClaimAssumed ClaimSettled
    trials                        TrialBegun TrialEnded Imagined Removed
    other inputs of decisions     Began Configured Noted Clock Arranged Reserved Snapshot

Versions 1 and 2 held the numbers drawn among equals in place of `tie_key`; they are not read.
"""

from typing import Any, Final

import msgspec

from moorage.api.node import Node
from moorage.api.pod import Pod

FORMAT: Final = 3
"""The version of the format. A reader refuses others."""

Parts = tuple[tuple[str, int], ...]
"""Points by plugin."""
Verdict = tuple[str, str, int]
"""The plugin that refused, why, and how many nodes."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing that happened."""


class PodSeen(Entry, frozen=True, tag=1):
    """A version of a pod; later entries with its uid refer to this version."""

    pod: Pod


class PodPut(Entry, frozen=True, tag=2):
    """A pod is counted on the node that its spec names."""

    uid: str


class PodGone(Entry, frozen=True, tag=3):
    uid: str


class NodePut(Entry, frozen=True, tag=4):
    node: Node


class NodeGone(Entry, frozen=True, tag=5):
    name: str


class ObjectPut(Entry, frozen=True, tag=6):
    """Any other object; `raw` is the object in MessagePack."""

    kind: str
    raw: msgspec.Raw


class ObjectGone(Entry, frozen=True, tag=7):
    kind: str
    key: str


class Assumed(Entry, frozen=True, tag=8):
    """A pod is assumed on a node, before its binding; Reserve plugins have been called."""

    uid: str
    node: str


class Forgotten(Entry, frozen=True, tag=9):
    """An assumed pod is forgotten; Unreserve has been called."""

    uid: str


class Nominated(Entry, frozen=True, tag=10):
    uid: str
    node: str


class Denominated(Entry, frozen=True, tag=11):
    uid: str


class Resting(Entry, frozen=True, tag=12):
    """No pod is placed on the node until then."""

    node: str
    until: float


class Rested(Entry, frozen=True, tag=13):
    node: str


class TrialBegun(Entry, frozen=True, tag=14):
    """All following changes are undone at the end of the trial; trials nest."""


class TrialEnded(Entry, frozen=True, tag=15):
    pass


class Imagined(Entry, frozen=True, tag=16):
    """Within a trial, a pod is counted on a node."""

    uid: str
    node: str


class Removed(Entry, frozen=True, tag=17):
    """Within a trial, a pod is not counted."""

    uid: str


class PluginCode(msgspec.Struct, frozen=True, array_like=True):
    """The file of a plugin's code, and its hash."""

    name: str
    digest: str
    file: str = ""


class Configured(Entry, frozen=True, tag=18):
    """A configuration takes over: its documents as YAML, and the code of the plugins it names.

    `plugins` are the `--plugin` arguments, `kernels` tells whether columns are computed in C.
    """

    generation: int
    text: str
    code: tuple[PluginCode, ...]
    plugins: tuple[str, ...] = ()
    kernels: bool = True
    moorage: str = ""
    python: str = ""


class Noted(Entry, frozen=True, tag=19):
    """An input of decisions that is no node, pod or object; valid until it is noted again."""

    what: str
    profile: str
    value: Any


class Clock(Entry, frozen=True, tag=20):
    """The time, in seconds since the epoch; an Attempt has its own."""

    now: float


class Arranged(Entry, frozen=True, tag=21):
    """At the beginning of a cut recording: the search order of nodes, and where each profile's
    next search starts."""

    order: tuple[str, ...]
    next_start: tuple[tuple[str, int], ...] = ()


class ClaimAssumed(Entry, frozen=True, tag=23):
    """A ResourceClaim is assumed as an API call has returned it, before the watch shows it."""

    raw: msgspec.Raw
    is_new: bool = False


class ClaimSettled(Entry, frozen=True, tag=24):
    """The allocation of a claim was written, or will not be."""

    uid: str
    key: str


class Began(Entry, frozen=True, tag=25):
    """A process began to record: all earlier state is void."""

    now: float
    command: str = ""


class Reserved(Entry, frozen=True, tag=26):
    """A pod was assumed and reserved before the beginning of a cut recording."""

    uid: str
    node: str
    profile: str
    now: float


class Placed(msgspec.Struct, frozen=True, array_like=True, tag="p", gc=False):
    """The chosen node, its score, and how many nodes were feasible and evaluated."""

    node: str
    score: int
    feasible: int
    evaluated: int
    parts: Parts = ()


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="r", gc=False):
    """No node fits; `victims` are uids of pods to be evicted from the nominated node."""

    verdicts: tuple[Verdict, ...]
    said: str = ""
    nominated: str | None = None
    victims: tuple[str, ...] = ()


class Failed(msgspec.Struct, frozen=True, array_like=True, tag="f", gc=False):
    """The attempt ended with an error; `late` if a plugin missed its deadline."""

    error: str
    plugin: str = ""
    point: str = ""
    late: bool = False


class ExtenderSaid(msgspec.Struct, frozen=True, array_like=True):
    """One answer of an extender, or its error."""

    extender: str
    verb: str
    answer: Any = None
    error: str = ""
    ignorable: bool = False


class Attempt(Entry, frozen=True, tag=22):
    """One decision: its inputs other than the cache, and its outcome.

    What was drawn among equals follows from `tie_key` (`moorage.framework.draws`). Without
    `makes_room`, PostFilter plugins were not called. `asks` says whether extenders were configured.
    """

    id: str
    uid: str
    profile: str
    version: str
    now: float
    tie_key: int
    outcome: Placed | Refused | Failed
    makes_room: bool = True
    asks: bool = False
    answers: tuple[ExtenderSaid, ...] = ()


class Snapshot(Entry, frozen=True, tag=27):
    """The whole state: the first entry of a file, for a reader that begins with this file.

    A reader of the preceding files must skip it.
    """

    entries: "tuple[AnyEntry, ...]"


AnyEntry = (
    PodSeen
    | PodPut
    | PodGone
    | NodePut
    | NodeGone
    | ObjectPut
    | ObjectGone
    | Assumed
    | Forgotten
    | Nominated
    | Denominated
    | Resting
    | Rested
    | TrialBegun
    | TrialEnded
    | Imagined
    | Removed
    | Configured
    | Noted
    | Clock
    | Arranged
    | ClaimAssumed
    | ClaimSettled
    | Began
    | Reserved
    | Attempt
    | Snapshot
)
Outcome = Placed | Refused | Failed

encode: Final = msgspec.msgpack.Encoder().encode
_entries: Final = msgspec.msgpack.Decoder(list[AnyEntry])


def decode_entries(content: bytes) -> list[AnyEntry]:
    """The entries of one frame, a MessagePack array of them."""
    return _entries.decode(content)
