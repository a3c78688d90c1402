"""The DefaultTolerationSeconds admission plugin: five minutes on a node that went away."""

from typing import Final

import msgspec

from moorage.api.taints import NO_EXECUTE, Taint, Toleration, tolerates
from moorage.watch.api_server import Raw

SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def with_default_tolerations(spec: Raw) -> Raw:
    """The spec with a toleration of each such taint, unless it has one."""
    own = spec.get("tolerations") or []
    known = [msgspec.convert(each, Toleration) for each in own]
    missing = [
        {
            "key": key,
            "operator": "Exists",
            "effect": NO_EXECUTE,
            "tolerationSeconds": SECONDS,
        }
        for key in _TAINTS
        if not any(tolerates(each, Taint(key=key, effect=NO_EXECUTE)) for each in known)
    ]
    return {**spec, "tolerations": [*own, *missing]} if missing else spec
