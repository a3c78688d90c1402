"""What is done about plugins that are slow or broken: deadlines and circuit breakers.

`PluginGuard` is the `pluginGuard` of a MoorageConfiguration: what holds for every custom plugin,
and what is different for some.
"""

from collections.abc import Container
from enum import StrEnum
from typing import Annotated, Final

import msgspec

from moorage.config.durations import Duration
from moorage.config.places import Path
from moorage.config.problems import Report, duplicate, invalid, required
from moorage.config.types import ConfigStruct

Score = Annotated[int, msgspec.Meta(ge=0, le=100)]
Failures = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class WhenOpen(StrEnum):
    """What happens at the hooks of a plugin that was switched off."""

    FAIL = "Fail"
    IGNORE = "Ignore"
    FALLBACK = "Fallback"


class Terms(ConfigStruct, frozen=True):
    """How long a plugin may take, and when it is switched off.

    `deadline` is for one extension point in one attempt, over all nodes; `bind_deadline` for
    PreBind and Bind, which may wait. Zero is no limit. After `failure_threshold` failed attempts
    in a row (zero: never) the plugin is switched off for `cooldown`; then one attempt tries it.
    """

    deadline: Duration = Duration.of_seconds(1)
    bind_deadline: Duration = Duration.of_seconds(600)
    failure_threshold: Failures = 5
    cooldown: Duration = Duration.of_seconds(30)
    when_open: WhenOpen = WhenOpen.FAIL
    fallback_score: Score = 0


class PluginTerms(ConfigStruct, frozen=True, omit_defaults=True):
    """What is different for one plugin."""

    name: str = ""
    deadline: Duration | None = None
    bind_deadline: Duration | None = None
    failure_threshold: Failures | None = None
    cooldown: Duration | None = None
    when_open: WhenOpen | None = None
    fallback_score: Score | None = None


class PluginGuard(Terms, frozen=True):
    """The terms of every custom plugin, and those of some."""

    plugins: tuple[PluginTerms, ...] = ()

    def of(self, names: Container[str]) -> Terms:
        """The terms of the plugin that goes by these names."""
        own = next((terms for terms in self.plugins if terms.name in names), PluginTerms())
        fields = Terms.__struct_fields__
        given = {name: getattr(own, name) for name in fields if getattr(own, name) is not None}
        return Terms(**{name: getattr(self, name) for name in fields} | given)


DEFAULT: Final = PluginGuard()
UNLIMITED: Final = PluginGuard(deadline=Duration(0), bind_deadline=Duration(0), failure_threshold=0)
"""Nothing is timed or switched off, as in tests; answers are still checked."""

_DURATIONS: Final = (("deadline", "deadline"), ("bind_deadline", "bindDeadline"))


def check(guard: PluginGuard, report: Report, path: Path) -> None:
    """Report what is wrong with values that decode well."""
    _check_durations(guard, report, path)
    seen: set[str] = set()
    for i, terms in enumerate(guard.plugins):
        at = (*path, "plugins", i)
        if not terms.name:
            report.problem((*at, "name"), required("the plugin these terms are for"))
        elif terms.name in seen:
            report.problem((*at, "name"), duplicate(terms.name))
        seen.add(terms.name)
        _check_durations(terms, report, at)


def _check_durations(terms: Terms | PluginTerms, report: Report, path: Path) -> None:
    for field, name in _DURATIONS:
        given = getattr(terms, field)
        if given is not None and given < 0:
            report.problem((*path, name), invalid(given, "must not be negative; 0s is no limit"))
    if terms.cooldown is not None and terms.cooldown <= 0:
        report.problem((*path, "cooldown"), invalid(terms.cooldown, "must be greater than zero"))
