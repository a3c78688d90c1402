"""The configuration in force, as JSON: `/configz`."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.config import decoding
from moorage.config.types import SchedulerConfiguration


class InForce:
    """The configuration in force, and how many there have been; `told` hears of each."""

    def __init__(
        self, configuration: SchedulerConfiguration, told: Callable[[int, str], None]
    ) -> None:
        self._told = told
        self.generation = 0
        self.replace(configuration)

    def replace(self, configuration: SchedulerConfiguration) -> None:
        """Another configuration is in force."""
        self.configuration = configuration
        self.generation += 1
        self._told(self.generation, digest(configuration))

    def configz(self) -> dict[str, Any]:
        """What `/configz` answers: kube's entry, and which configuration this is."""
        return {
            "componentconfig": plain(self.configuration),
            "moorage": {"generation": self.generation, "digest": digest(self.configuration)},
        }


def plain(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """A configuration as JSON has it, without private keys."""
    found = decoding.encode(configuration)
    for extender in found["extenders"]:
        if (extender["tlsConfig"] or {}).get("keyData"):
            extender["tlsConfig"]["keyData"] = "REDACTED"
    return found


def digest(configuration: SchedulerConfiguration) -> str:
    """A short name for exactly this configuration."""
    text = msgspec.json.encode(decoding.encode(configuration), order="sorted")
    return hashlib.sha256(text).hexdigest()[:12]
