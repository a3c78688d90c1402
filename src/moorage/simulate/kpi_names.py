"""The names of KPIs, as rules and objectives write them: checked before anything is run.

`wait_s.p95` is a path in the KPIs of a run; `p95_wait` is short for it. A `*`, as in
`allocation.*`, stands for a name that only a run knows: a resource or a tenant.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from msgspec import inspect

from moorage.config.field_errors import InputError
from moorage.kpi.summary import Kpis

_SHORT: Final = re.compile(r"(mean|p50|p95|p99|max)_(wait|completion)")


def kpi_path(name: str, option: str) -> str:
    """The path of a KPI; for an unknown name, an InputError lists all names, the nearest first."""
    short = _SHORT.fullmatch(name)
    path = f"{short.group(2)}_s.{short.group(1)}" if short else name
    if any(re.fullmatch(known.replace(".", r"\.").replace("*", ".+"), path) for known in PATHS):
        return path
    names = sorted(_listed(), key=lambda known: (-_likeness(name, known), known))
    raise InputError([f"{option}: no KPI {name!r}: choose of {', '.join(names)}"])


def _paths(struct: inspect.Type, within: str = "") -> Iterator[str]:
    assert isinstance(struct, inspect.StructType)
    for field in struct.fields:
        path, value = f"{within}{field.name}", field.type
        if isinstance(value, inspect.DictType):
            path, value = f"{path}.*", value.value_type
        if isinstance(value, inspect.StructType):
            yield from _paths(value, f"{path}.")
        else:
            yield path


PATHS: Final = tuple(_paths(inspect.type_info(Kpis)))


def _listed() -> Iterator[str]:
    """Each name once; quantiles by their short names, the KPIs of a part as one `part.*.*`."""
    seen: dict[str, None] = {}
    for path in PATHS:
        part, _, inner = path.partition(".*.")
        times, _, quantile = path.rpartition("_s.")
        if inner:
            seen[f"{part}.*.*"] = None
        else:
            seen[f"{quantile}_{times}" if times else path] = None
    yield from seen


def _likeness(written: str, known: str) -> float:
    return difflib.SequenceMatcher(None, written.lower(), known).ratio()
