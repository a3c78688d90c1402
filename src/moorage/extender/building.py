"""The extenders of a configuration, ready to be asked."""

from collections.abc import Sequence

from moorage.config.problems import ConfigError, Problem
from moorage.config.types import Extender
from moorage.extender.asking import Asking
from moorage.extender.client import HttpExtenders
from moorage.extender.tls import TlsError, context


def build(given: Sequence[Extender], asking: Asking) -> HttpExtenders | None:
    """None where there are none; ConfigError where one cannot be asked as it is described."""
    problems = []
    for position, extender in enumerate(given):
        try:
            context(extender)
        except TlsError as error:
            problems.append(Problem(f"extenders[{position}]", str(error)))
    if problems:
        raise ConfigError(problems)
    return HttpExtenders(given, asking) if given else None
