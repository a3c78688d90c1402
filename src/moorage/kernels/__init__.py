"""Passes over node columns written in C, each called by its name with `run`.

    _kernels      fused passes over all nodes
    _gpu_kernels  what placements cost the GPUs of nodes
    _node_totals  what nodes score for a class of pods, row by row

Law of the package: nothing but arrays and numbers, and imports nothing of Moorage. No kernel has a
limit of its own: what there is more of takes longer. Whoever runs a kernel keeps its numpy form
beside it, for installations without a compiler and for a kernel that refuses; both give the same.
"""

import importlib
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

MODULES: Final = {
    "_kernels": ("mean_allocated", "balance_of_two", "mark", "highest", "nth_of"),
    "_gpu_kernels": ("placements",),
    "_node_totals": ("best", "nth"),
}
NAMES: Final = tuple(name for names in MODULES.values() for name in names)

built: Final[dict[str, Callable[..., Any]]] = {}
"""Kernel -> its function; empty where there was no compiler when the package was installed."""
refusals: Final[Counter[str]] = Counter()
"""Kernel -> how often it refused what it was given, in this process."""

for _module, _names in MODULES.items():
    try:
        _found = importlib.import_module(f"{__name__}.{_module}")
    except ImportError:
        continue
    built.update((_name, getattr(_found, _name)) for _name in _names)


def run(name: str, *args: object) -> Any:
    """What a kernel answers; None if the caller's numpy form has to do the work.

    That is so where the kernel was not built, and where it refuses what it is given. A refusal is
    counted, and the first one of a kernel is logged. The kernel may have written a part by then.
    """
    kernel = built.get(name)
    if kernel is None:
        return None
    try:
        return kernel(*args)
    except Exception as error:
        refusals[name] += 1
        if refusals[name] == 1:
            fields = {"kernel": name, "err": f"{type(error).__name__}: {error}"}
            log = logging.getLogger("moorage")
            log.error("A kernel refused its columns; numpy does its work", extra={"fields": fields})
        return None


def described() -> str:
    """Which of them were built, in words."""
    lacking = [module for module, names in MODULES.items() if built.keys().isdisjoint(names)]
    if not lacking:
        return "compiled"
    which = "not compiled" if len(lacking) == len(MODULES) else f"{', '.join(lacking)} not compiled"
    return (
        f"{which}; their numpy forms decide the same, more slowly (no C compiler at installation)"
    )
