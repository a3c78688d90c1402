"""Rules that fail a comparison: `p95_wait > +5%` fails if the wait grew by more than 5 %.

A rule is a KPI, an operator and a number. With a sign, as in `+5%` and `-2`, the number is a change
against the first configuration; without one, as in `10`, it is the KPI's value.
"""

import math
import re
from typing import Final

import msgspec

from moorage.config.field_errors import InputError
from moorage.config.plugin_catalogue import closest_name, did_you_mean
from moorage.kpi.summary import flat
from moorage.simulate.comparison import Comparison, Outcome
from moorage.simulate.kpi_names import kpi_path

_RULE: Final = re.compile(r"\s*([A-Za-z0-9_./-]+?)\s*(>=|<=|>|<)\s*([+-]?)([0-9.eE]+)\s*(%?)\s*")


class FailureRule(msgspec.Struct, frozen=True):
    """One rule."""

    text: str
    kpi: str
    operator: str
    value: float
    is_change: bool
    is_percent: bool

    def check(self, configurations: int) -> None:
        """Refuse, before anything is run, a rule that could never be broken."""
        if self.is_change and configurations < 2:
            problem = "a change is one against the first configuration: name another"
            raise InputError([f"--fail-if {self.text}: {problem}"])

    def broken_by(self, found: Comparison) -> list[str]:
        """A line per configuration that breaks the rule; a change does not apply to the first."""
        first, *others = found.configurations
        judged = others if self.is_change else [first, *others]
        return [line for outcome in judged if (line := self._line(first, outcome))]

    def _line(self, first: Outcome, outcome: Outcome) -> str:
        base, value = self._of(first), self._of(outcome)
        measured = value
        if self.is_change:
            measured = value - base
            if self.is_percent:
                measured = _percent(base, value)
        if not _holds(measured, self.operator, self.value):
            return ""
        sign = "+" if self.is_change else ""
        shown = f"{measured:{sign}.4g}{'%' if self.is_percent else ''}"
        return f"{outcome.name}: {self.kpi} is {shown}: fails {self.text}"

    def _of(self, outcome: Outcome) -> float:
        found = outcome.intervals.get(self.kpi)
        if found is None:
            similar = did_you_mean(closest_name(self.kpi, outcome.intervals))
            who = f"no run of {outcome.name} has"
            if any(self.kpi in dict(flat(result.kpis)) for result in outcome.seeds):
                who, similar = f"not every run of {outcome.name} has", ""
            raise InputError([f"--fail-if {self.text}: {who} measured {self.kpi!r}{similar}"])
        return found.mean


def read_rule(text: str) -> FailureRule:
    """A rule as it is written on the command line."""
    parts = _RULE.fullmatch(text)
    if parts is None:
        example = "write a KPI, > or <, and a change or a value: p95_wait > +5%"
        raise InputError([f"--fail-if {text!r}: not a rule: {example}"])
    kpi, operator, sign, number, percent = parts.groups()
    path = kpi_path(kpi, f"--fail-if {text!r}")
    try:
        value = float(sign + number)
    except ValueError:
        raise InputError([f"--fail-if {text!r}: {number!r} is not a number"]) from None
    if percent and not sign:
        raise InputError([f"--fail-if {text!r}: a percentage is of a change: write +{number}%"])
    return FailureRule(text.strip(), path, operator, value, bool(sign), bool(percent))


def _percent(base: float, value: float) -> float:
    if base:
        return (value - base) / abs(base) * 100
    return 0.0 if value == base else math.copysign(math.inf, value)


def _holds(measured: float, operator: str, value: float) -> bool:
    match operator:
        case ">":
            return measured > value
        case ">=":
            return measured >= value
        case "<":
            return measured < value
        case _:
            return measured <= value
