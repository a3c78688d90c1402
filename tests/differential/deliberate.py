"""What Moorage does differently on purpose. Every rule here is told in docs/parity.md."""

from collections.abc import Callable

from tests.differential.words import Json

Rule = Callable[[Json, Json, Json], bool]


def _ignores_misplaced_plugins(case: Json, want: Json, got: Json) -> bool:
    return "does not extend" in (want.get("error") or "") and not got.get("error")


def _accepts_negative_weights(case: Json, want: Json, got: Json) -> bool:
    return "could overflow" in (want.get("error") or "") and not got.get("error")


def _checks_disabled_plugins(case: Json, want: Json, got: Json) -> bool:
    return "scoringStrategy.type" in (got.get("error") or "") and not want.get("error")


RULES: dict[str, Rule] = {
    "a plugin enabled at a point it does not implement is ignored": _ignores_misplaced_plugins,
    "a negative weight is accepted": _accepts_negative_weights,
    "arguments of a disabled plugin are checked all the same": _checks_disabled_plugins,
}


def why(case: Json, want: Json, got: Json) -> str | None:
    """The rule that explains a difference, if there is one."""
    return next((reason for reason, rule in RULES.items() if rule(case, want, got)), None)
