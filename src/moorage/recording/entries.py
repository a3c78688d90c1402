"""What a recording is made of: entries, one after the other, each an array with a number first.

Version 2. Objects are written as the API server has them, without defaults, once for each version
that was heard; whatever follows refers to them by uid, key or name. Numbers are never used again.

    what was heard and believed   PodSeen PodPut PodGone NodePut NodeGone ObjectPut ObjectGone
    what was decided and booked   Attempt Assumed Forgotten Nominated Denominated Resting Rested
                                  ClaimAssumed ClaimSettled
    what was only tried           TrialBegun TrialEnded Imagined Removed
    what decisions go by          Began Configured Noted Clock Arranged Reserved Snapshot

Version 1 has no Snapshot, and is read as it ever was.
"""

from typing import Any, Final

import msgspec

from moorage.api.node import Node
from moorage.api.pod import Pod

FORMAT: Final = 2
"""The version of the format. A reader refuses what is newer."""

Parts = tuple[tuple[str, int], ...]
"""Points by plugin."""
Verdict = tuple[str, str, int]
"""Who refused, why, and how many nodes."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing that happened."""


class PodSeen(Entry, frozen=True, tag=1):
    """A pod as it was heard of; later entries mean this version by its uid."""

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
    """Any other object; `raw` is it in MessagePack."""

    kind: str
    raw: msgspec.Raw


class ObjectGone(Entry, frozen=True, tag=7):
    kind: str
    key: str


class Assumed(Entry, frozen=True, tag=8):
    """A pod is counted on a node before anybody confirmed it; Reserve plugins have been asked."""

    uid: str
    node: str


class Forgotten(Entry, frozen=True, tag=9):
    """The assumption is taken back; Reserve plugins were told."""

    uid: str


class Nominated(Entry, frozen=True, tag=10):
    uid: str
    node: str


class Denominated(Entry, frozen=True, tag=11):
    uid: str


class Resting(Entry, frozen=True, tag=12):
    """A node is left alone until then."""

    node: str
    until: float


class Rested(Entry, frozen=True, tag=13):
    node: str


class TrialBegun(Entry, frozen=True, tag=14):
    """Whatever follows is undone at the end of the trial; trials nest."""


class TrialEnded(Entry, frozen=True, tag=15):
    pass


class Imagined(Entry, frozen=True, tag=16):
    """For the length of a trial a pod is counted on a node."""

    uid: str
    node: str


class Removed(Entry, frozen=True, tag=17):
    """For the length of a trial a pod is not counted."""

    uid: str


class PluginCode(msgspec.Struct, frozen=True, array_like=True):
    """Where a plugin's code is, and what it hashes to."""

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
    """Something decisions go by that is neither node, pod nor object; in force until noted anew."""

    what: str
    profile: str
    value: Any


class Clock(Entry, frozen=True, tag=20):
    """Seconds since the epoch; attempts tell their own."""

    now: float


class Arranged(Entry, frozen=True, tag=21):
    """In which order nodes are walked, and where each profile goes on: at the beginning of a
    recording that was cut."""

    order: tuple[str, ...]
    next_start: tuple[tuple[str, int], ...] = ()


class ClaimAssumed(Entry, frozen=True, tag=23):
    """A ResourceClaim is believed as an API call has answered it, before the watch shows it."""

    raw: msgspec.Raw
    is_new: bool = False


class ClaimSettled(Entry, frozen=True, tag=24):
    """The allocation of a claim was written, or will not be."""

    uid: str
    key: str


class Began(Entry, frozen=True, tag=25):
    """A process began to record: whatever was believed before is not believed any more."""

    now: float
    command: str = ""


class Reserved(Entry, frozen=True, tag=26):
    """A pod is assumed on a node, and Reserve plugins have been asked, in what was cut away."""

    uid: str
    node: str
    profile: str
    now: float


class Placed(msgspec.Struct, frozen=True, array_like=True, tag="p", gc=False):
    """The node that was chosen, its points, and among how many it was."""

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
    """The attempt ended with an error; `late` where a plugin took too long."""

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
    """One decision: what it depended on beside what is believed, and how it came out.

    `draws` are pairs: among how many was drawn, and what. Without `makes_room`, PostFilter plugins
    were not asked; `asks` tells whether extenders were to be.
    """

    id: str
    uid: str
    profile: str
    version: str
    now: float
    draws: tuple[int, ...]
    outcome: Placed | Refused | Failed
    makes_room: bool = True
    asks: bool = False
    answers: tuple[ExtenderSaid, ...] = ()


class Snapshot(Entry, frozen=True, tag=27):
    """Everything that is believed: the first of a file, for who begins to read there.

    Whoever has read what came before leaves it out.
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
