"""The active configuration, its generation and digest, as `/configz` shows it."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.config import strict_decoder
from moorage.config.types import SchedulerConfiguration


class ActiveConfiguration:
    """The active configuration, and how many there have been.

    `facts` are further entries of `/configz`, computed on each request.
    """

    def __init__(self, configuration: SchedulerConfiguration, digest: str = "") -> None:
        self.generation = 0
        self.facts: dict[str, Callable[[], Any]] = {}
        self.replace(configuration, digest)

    def replace(self, configuration: SchedulerConfiguration, digest: str = "") -> None:
        """Make another configuration active; `digest` identifies it and all that it refers to."""
        self.configuration = configuration
        self.digest = digest or configuration_digest(configuration)
        self.generation += 1

    def configz(self) -> dict[str, Any]:
        """The answer of `/configz`: kube's entry, and which configuration this is."""
        facts = {name: ask() for name, ask in self.facts.items()}
        return {
            "componentconfig": redacted_configuration(self.configuration),
            "moorage": {"generation": self.generation, "digest": self.digest, **facts},
        }


def redacted_configuration(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """A configuration as JSON values, without private keys."""
    found = strict_decoder.encode(configuration)
    for extender in found["extenders"]:
        if (extender["tlsConfig"] or {}).get("keyData"):
            extender["tlsConfig"]["keyData"] = "REDACTED"
    return found


def configuration_digest(configuration: SchedulerConfiguration) -> str:
    """A short hash of exactly this configuration."""
    text = msgspec.json.encode(strict_decoder.encode(configuration), order="sorted")
    return hashlib.sha256(text).hexdigest()[:12]
