"""The active configuration, its generation and digest, as `/configz` shows it."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.config import strict_decoder
from moorage.config.types import SchedulerConfiguration


class ActiveConfiguration:
    """The configuration in force, and how many there have been.

    `facts` are further entries of `/configz`, each asked for when somebody looks.
    """

    def __init__(self, configuration: SchedulerConfiguration, digest: str = "") -> None:
        self.generation = 0
        self.facts: dict[str, Callable[[], Any]] = {}
        self.replace(configuration, digest)

    def replace(self, configuration: SchedulerConfiguration, digest: str = "") -> None:
        """Another configuration is in force; `digest` names it, with all that came with it."""
        self.configuration = configuration
        self.digest = digest or configuration_digest(configuration)
        self.generation += 1

    def configz(self) -> dict[str, Any]:
        """What `/configz` answers: kube's entry, and which configuration this is."""
        facts = {name: ask() for name, ask in self.facts.items()}
        return {
            "componentconfig": redacted_configuration(self.configuration),
            "moorage": {"generation": self.generation, "digest": self.digest, **facts},
        }


def redacted_configuration(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """A configuration as JSON has it, without private keys."""
    found = strict_decoder.encode(configuration)
    for extender in found["extenders"]:
        if (extender["tlsConfig"] or {}).get("keyData"):
            extender["tlsConfig"]["keyData"] = "REDACTED"
    return found


def configuration_digest(configuration: SchedulerConfiguration) -> str:
    """A short name for exactly this configuration."""
    text = msgspec.json.encode(strict_decoder.encode(configuration), order="sorted")
    return hashlib.sha256(text).hexdigest()[:12]
