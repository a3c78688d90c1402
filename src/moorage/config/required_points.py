"""Plugins that need their own PreFilter or PreScore, and what a profile does that disables it.

In kube-scheduler some plugins filter or score with what they noted in PreFilter or PreScore. If
that point is disabled and the other is not, every pod of the profile fails, which is never
intended. By default a PreScore or Score without its preparation is left out, with a warning. A
Filter is not left out, because pods would be placed where they cannot run: there the profile fails
as in kube-scheduler. `unpreparedPlugins: Fail` in a MoorageConfiguration keeps kube-scheduler's
behaviour for all.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from moorage.config.field_errors import Path, Report
from moorage.config.plugin_catalogue import PluginCatalogue
from moorage.config.resolved_profile import Enabled

_PREFERENCES: Final = ("preScore", "score")

Points = Mapping[str, tuple[Enabled, ...]]


class UnpreparedPlugins(StrEnum):
    """What to do with a Score plugin whose own PreScore or PreFilter is disabled."""

    IGNORE = "Ignore"
    FAIL = "Fail"


class Unprepared(NamedTuple):
    """A plugin at `point` without the point it needs."""

    name: str
    point: str
    lacking: str


def leave_out_unprepared(
    points: Points,
    catalogue: PluginCatalogue,
    report: Report,
    path: Path,
    unprepared: UnpreparedPlugins,
) -> dict[str, tuple[Enabled, ...]]:
    """The points without unprepared plugins, as far as they may be left out; with warnings.

    `path` leads to the profile.
    """
    kept, at = dict(points), (*path, "plugins")
    for name, point, lacking in list(_unprepared(kept, catalogue)):
        if point not in _PREFERENCES or unprepared is UnpreparedPlugins.FAIL:
            detail = f'plugin "{name}" fails every pod, since its {lacking} is disabled'
            report.warn((*at, point), f"{detail}: enable both, or disable both")
    while unprepared is UnpreparedPlugins.IGNORE and (found := _preference(kept, catalogue)):
        name, point, lacking = found
        kept[point] = tuple(ref for ref in kept[point] if ref.name != name)
        detail = (
            f'plugin "{name}" is left out here, since its {lacking} is disabled; kube-scheduler '
            "would fail every pod of the profile"
        )
        report.warn((*at, point), f"{detail}: enable both, or disable both")
    return kept


def _unprepared(points: Points, catalogue: PluginCatalogue) -> Iterator[Unprepared]:
    for point, refs in points.items():
        for ref in refs:
            needed = catalogue.needs(ref.name).get(point)
            if needed and all(other.name != ref.name for other in points.get(needed, ())):
                yield Unprepared(ref.name, point, needed[0].upper() + needed[1:])


def _preference(points: Points, catalogue: PluginCatalogue) -> Unprepared | None:
    found = _unprepared(points, catalogue)
    return next((each for each in found if each.point in _PREFERENCES), None)
