"""Pseudonyms: one per name, the same everywhere, in the same order as the names.

The order matters: between nodes or pods that are equal otherwise, names decide. So all names are
collected first, sorted, and numbered in this order.
"""

import re
from collections.abc import Iterable
from typing import Final

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_SYSTEM: Final = ("system-", "kube-")
_KEPT: Final = frozenset({"", "true", "false", "linux", "windows", "amd64", "arm64", "default"})
KNOWN_DOMAINS: Final = (
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "moorage.io",
    "nvidia.com",
    "amd.com",
    "karpenter.sh",
)
"""Domains of label and taint keys that plugins know by name."""


class Pseudonyms:
    """Collects names, and then replaces them; names in the configuration are kept."""

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = {*_KEPT, *kept}
        self._names: set[str] = set()
        self._given: dict[str, str] | None = None

    def keep(self, text: str) -> None:
        """Never replace this text; call it before `settle`."""
        self._kept.add(text)

    def settle(self) -> None:
        """Number the names; call it once all names are known."""
        width = len(str(len(self._names)))
        ordered = sorted(self._names)
        self._given = {name: f"x{rank:0{width}}" for rank, name in enumerate(ordered)}

    def name(self, text: str) -> str:
        """The pseudonym of a name; numbers are kept, because they may be compared as numbers."""
        if text in self._kept or _NUMBER.fullmatch(text) or text.startswith(_SYSTEM):
            return text
        if self._given is None:
            self._names.add(text)
            return text
        return self._given.get(text, "unknown")

    def key(self, text: str) -> str:
        """`namespace/name`, part by part."""
        return "/".join(self.name(part) for part in text.split("/"))

    def label(self, key: str) -> str:
        """The key of a label or taint, replaced unless plugins know it by name."""
        domain, slash, _ = key.rpartition("/")
        known = slash and any(
            domain == each or domain.endswith(f".{each}") for each in KNOWN_DOMAINS
        )
        return key if known or key.startswith("metadata.") else self.name(key)

    def zones(self, text: str) -> str:
        """The value of a label; on a volume it may be several zones, joined."""
        return "__".join(self.name(part) for part in text.split("__"))

    def image(self, text: str) -> str:
        """An image, as repository and tag or digest; no tag means `latest`."""
        tagged = text if text.rfind(":") > text.rfind("/") else f"{text}:latest"
        return f"{self.name(tagged)}:v"
