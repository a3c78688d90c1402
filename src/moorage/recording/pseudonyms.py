"""Pseudonyms: one for each name, the same everywhere, in the same order as the names.

Order counts: where two nodes or pods are equal in everything else, names decide. So all names are
collected first, and numbered as they sort.
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
"""Keys of labels and taints that plugins know by name."""


class Pseudonyms:
    """Collects names, and then replaces them; what the configuration names is kept."""

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = {*_KEPT, *kept}
        self._names: set[str] = set()
        self._given: dict[str, str] | None = None

    def keep(self, text: str) -> None:
        """Leave a text as it is, wherever it stands; before `settle`."""
        self._kept.add(text)

    def settle(self) -> None:
        """All names are known: number them."""
        width = len(str(len(self._names)))
        ordered = sorted(self._names)
        self._given = {name: f"x{rank:0{width}}" for rank, name in enumerate(ordered)}

    def name(self, text: str) -> str:
        """What stands for a name; numbers stay, since they may be compared as such."""
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
        """The key of a label or taint: those that plugins know are kept."""
        domain, slash, _ = key.rpartition("/")
        known = slash and any(
            domain == each or domain.endswith(f".{each}") for each in KNOWN_DOMAINS
        )
        return key if known or key.startswith("metadata.") else self.name(key)

    def zones(self, text: str) -> str:
        """A label's value; that of a volume may be several zones, joined."""
        return "__".join(self.name(part) for part in text.split("__"))

    def image(self, text: str) -> str:
        """An image, by repository and tag or digest; one without a tag means the latest."""
        tagged = text if text.rfind(":") > text.rfind("/") else f"{text}:latest"
        return f"{self.name(tagged)}:v"
