"""Settings that only a restart changes: what they made is in use for as long as the process."""

from collections.abc import Iterator
from typing import Final

import msgspec

from moorage.config.types import SchedulerConfiguration

FIXED: Final = (
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "delayCacheUntilActive",
)


def needs_restart(before: SchedulerConfiguration, after: SchedulerConfiguration) -> tuple[str, ...]:
    """The settings that differ and stay as they are until a restart."""
    return tuple(_differing(before, after))


def keep(before: SchedulerConfiguration, after: SchedulerConfiguration) -> SchedulerConfiguration:
    """The configuration with those settings as they are in use."""
    names = {f.name for f in msgspec.structs.fields(after) if f.encode_name in FIXED}
    return msgspec.structs.replace(after, **{name: getattr(before, name) for name in names})


def _differing(before: SchedulerConfiguration, after: SchedulerConfiguration) -> Iterator[str]:
    for field in msgspec.structs.fields(after):
        one, other = getattr(before, field.name), getattr(after, field.name)
        if field.encode_name not in FIXED or one == other:
            continue
        if not isinstance(one, msgspec.Struct):
            yield field.encode_name
            continue
        for inner in msgspec.structs.fields(one):
            if getattr(one, inner.name) != getattr(other, inner.name):
                yield f"{field.encode_name}.{inner.encode_name}"
