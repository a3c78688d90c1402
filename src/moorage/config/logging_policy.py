"""What is logged about pods: `logging` of a MoorageConfiguration, and Policy documents of rules.

A rule names verbs, `schedule` and `bind`, and their level, regardless of `-v`: `None` logs errors
only, `Info` a line for each, `Debug` a trace of each attempt too.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from moorage.config import strict_decoder, yaml_documents
from moorage.config.durations import Duration
from moorage.config.field_errors import ConfigError, Path, Problem, Report, invalid, unsupported
from moorage.config.types import ConfigStruct

API_VERSION: Final = "v1"
KIND: Final = "Policy"
VERBS: Final = ("schedule", "bind")
RESOURCES: Final = ("pods",)
EVERY: Final = "*"

Verbosity = Annotated[int, msgspec.Meta(ge=0, le=10)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LogLevel(StrEnum):
    """How much is logged."""

    NONE = "None"
    ERROR = "Error"
    INFO = "Info"
    DEBUG = "Debug"


class LoggingRule(ConfigStruct, frozen=True):
    """How much is logged about which verbs on which objects."""

    level: LogLevel = LogLevel.INFO
    resources: tuple[str, ...] = RESOURCES
    verbs: tuple[str, ...] = VERBS


class LoggingPolicy(ConfigStruct, frozen=True):
    """A document of rules; if several are about one verb, the first counts."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    rules: tuple[LoggingRule, ...] = ()


class LoggingSettings(ConfigStruct, frozen=True):
    """`logging` of a MoorageConfiguration; `verbosity` overrides the flag `-v`.

    Attempts that take longer to decide than `trace_longer_than` are traced, and a `trace_share` of
    all attempts. `scheduler_latency`: write a condition to each pod with the time it waited.
    """

    verbosity: Verbosity | None = None
    trace_longer_than: Duration = Duration.parse("100ms")
    trace_share: Share = 0.001
    scheduler_latency: bool = False
    rules: tuple[LoggingRule, ...] = ()


def validate_logging(settings: LoggingSettings, report: Report, path: Path) -> None:
    """Report invalid values."""
    if settings.trace_longer_than < 0:
        detail = invalid(settings.trace_longer_than, "must not be negative")
        report.problem((*path, "traceLongerThan"), detail)
    _validate_rules(settings.rules, report, (*path, "rules"))


def _validate_rules(rules: Iterable[LoggingRule], report: Report, path: Path) -> None:
    for i, rule in enumerate(rules):
        for name, given, known in (
            ("resources", rule.resources, RESOURCES),
            ("verbs", rule.verbs, VERBS),
        ):
            for j, each in enumerate(given):
                if each not in (*known, EVERY):
                    report.problem((*path, i, name, j), unsupported(each, (*known, EVERY)))


def load_logging_rules(
    document: str | bytes | Mapping[str, Any], *, source: str = ""
) -> list[LoggingRule]:
    """The rules of all such documents of a text, inside ConfigMaps too; raises ConfigError."""
    rules: list[LoggingRule] = []
    problems: list[Problem] = []
    for found in yaml_documents.find_documents(document, KIND, source):
        report = Report(source, found.places, found.within)
        policy = strict_decoder.decode(found.value, LoggingPolicy, report)
        if policy is not None:
            if policy.api_version != API_VERSION:
                report.problem(("apiVersion",), unsupported(policy.api_version, (API_VERSION,)))
            _validate_rules(policy.rules, report, ("rules",))
            rules += policy.rules
        problems += report.problems
    if problems:
        raise ConfigError(problems)
    return rules


def levels(rules: Iterable[LoggingRule]) -> dict[str, LogLevel]:
    """The level of each verb that a rule names."""
    found: dict[str, LogLevel] = {}
    for rule in rules:
        for verb in VERBS:
            if verb in rule.verbs or EVERY in rule.verbs:
                found.setdefault(verb, rule.level)
    return found
