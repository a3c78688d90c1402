"""Pseudonyms: one per name, the same everywhere, in the same order as the names.

The order matters: between nodes or pods that are equal otherwise, names decide. So all names are
collected first, sorted, and numbered in this order.
"""

import re
from collections.abc import Iterable
from typing import Final

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
KEPT: Final = frozenset(
    {
        "",
        "true",
        "false",
        "linux",
        "windows",
        "amd64",
        "arm64",
        "default",
        "default-scheduler",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "system-cluster-critical",
        "system-node-critical",
    }
)
"""Texts that every cluster has, and that decide: they stay wherever they occur."""
KNOWN_DOMAINS: Final = (
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "moorage.io",
    "nvidia.com",
    "amd.com",
    "karpenter.sh",
    "alibabacloud.com",
    "hami.io",
    "volcano.sh",
)
"""Domains of label and taint keys that plugins know by name."""
KNOWN_VALUES: Final = frozenset(
    {
        "alibabacloud.com/gpu-card-model",
        "eks.amazonaws.com/capacityType",
        "karpenter.sh/capacity-type",
        "node.kubernetes.io/instance-type",
        "nvidia.com/gpu.product",
    }
)
"""Labels whose values stay: models of devices and machines, which prices and pods name, too."""


class Pseudonyms:
    """Collects names, and then replaces them; names in the configuration are kept."""

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = {*KEPT, *kept}
        self._compared: set[str] = set()
        self._names: set[str] = set()
        self._given: dict[str, str] | None = None

    def keep(self, text: str) -> None:
        """Never replace this text; call it before `settle`."""
        self._kept.add(text)

    def is_kept(self, text: str) -> bool:
        """Whether this text stays wherever it occurs."""
        return text in self._kept

    def compare(self, key: str) -> None:
        """The values of this label are compared as numbers; call it before `settle`."""
        self._compared.add(key)

    def settle(self) -> None:
        """Number the names; call it once all names are known."""
        width = len(str(len(self._names)))
        ordered = sorted(self._names)
        self._given = {name: f"x{rank:0{width}}" for rank, name in enumerate(ordered)}

    def name(self, text: str) -> str:
        """The pseudonym of a name."""
        if text in self._kept:
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
        return key if _is_known(key) or key.startswith("metadata.") else self.name(key)

    def value(self, key: str, text: str) -> str:
        """The value of a label, taint or annotation; on a volume it may be several zones, joined.

        Numbers stay where something reads them: under keys that plugins or the configuration know
        by name, and where selectors compare them.
        """
        if key in KNOWN_VALUES or (_NUMBER.fullmatch(text) and self._reads_numbers(key)):
            return text
        return "__".join(self.name(part) for part in text.split("__"))

    def _reads_numbers(self, key: str) -> bool:
        return _is_known(key) or key in self._kept or key in self._compared

    def image(self, text: str) -> str:
        """An image, as repository and tag or digest; no tag means `latest`."""
        tagged = text if text.rfind(":") > text.rfind("/") else f"{text}:latest"
        return f"{self.name(tagged)}:v"


def _is_known(key: str) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and any(
        domain == each or domain.endswith(f".{each}") for each in KNOWN_DOMAINS
    )
