"""Moorage: a Kubernetes scheduler that people extend in Python.

What a plugin author imports is here. A plugin is a class whose bases are the extension points it
implements and whose fields are its arguments:

    class QuietNodes(Filter, frozen=True):
        label: str = "example.com/noise"

        def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
            return unresolvable("node(s) were too loud") if node.labels.get(self.label) else None

The names are those of `moorage.plugin_api`, imported when the first of them is used: a command
that needs no engine, as `moorage --help`, does not import one.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.plugin_api import *  # noqa: F403  the names have one list, there

__version__ = "0.1.0"
KUBE_VERSION = "v1.37"
"""The kube-scheduler whose decisions these are."""


def __getattr__(name: str) -> Any:
    if name == "__all__" or not (name.startswith("__") or find_spec(f"{__name__}.{name}")):
        found = import_module("moorage.plugin_api")
        if name == "__all__" or name in found.__all__:
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
