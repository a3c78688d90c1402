"""Draws among equals: keyed, not the next number of a generator.

A draw is a hash of the seed, the pod's uid, the number of the pod's own attempt, and the purpose.
So it is the same whatever else was attempted, skipped, recorded or observed, in every process and
on every platform. The author of a pod cannot choose it, because the API server gives the uid.
"""

from random import Random as Random
from typing import Final, NewType
from zlib import crc32

Purpose = NewType("Purpose", int)
"""What is drawn for, as 64 bits."""
_ALL: Final = (1 << 64) - 1
_ODD: Final = 0xD6E8FEB86659FD93
"""A multiplier that mixes well: each bit of a factor changes half of the product's upper bits."""


def tie_key(seed: int, uid: str, attempt: int) -> int:
    """64 bits from which all draws of one attempt at a pod follow."""
    return (crc32(uid.encode()) << 32 | attempt & 0xFFFFFFFF) ^ seed


def draw(key: int, what: Purpose, stop: int) -> int:
    """One of 0 to `stop` - 1, each equally likely."""
    mixed = (key ^ what) * _ODD & _ALL
    mixed = (mixed ^ mixed >> 32) * _ODD & _ALL
    return (mixed ^ mixed >> 32) * stop >> 64


def purpose(name: str) -> Purpose:
    """A purpose, by its name."""
    return Purpose(crc32(name.encode()) * _ODD & _ALL)


def generator(key: int, name: str) -> Random:
    """A generator for whoever needs more than one draw."""
    return Random(draw(key, purpose(name), 1 << 64))


NODE: Final = purpose("node")
"""One of the nodes with the highest total."""
FIRST_CANDIDATE: Final = purpose("first candidate")
"""The node at which the search for victims begins."""
CANDIDATE: Final = purpose("candidate")
"""One of the nodes on which preemption costs least."""
