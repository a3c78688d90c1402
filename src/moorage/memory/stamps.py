"""What the server adds to an object: its identity, its name where asked, and times."""

import datetime
import random
from typing import Final

from moorage.clock import Clock

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

    def uid(self) -> str:
        """A version 4 UUID."""
        bits = self._rng.getrandbits(128)
        bits = bits & ~(0xF000 << 64) & ~(0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

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
