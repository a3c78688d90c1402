"""Builds the HTTP extenders of a configuration, and refuses unusable TLS settings."""

from collections.abc import Sequence

from moorage.config.field_errors import ConfigError, Problem
from moorage.config.types import Extender
from moorage.extender.async_bridge import AsyncBridge
from moorage.extender.http_extenders import ExtenderObserver, HttpExtenders
from moorage.extender.http_sender import ExtenderTlsError, tls_context


def build_extenders(
    given: Sequence[Extender], asking: AsyncBridge, observer: ExtenderObserver | None = None
) -> HttpExtenders | None:
    """None where there are none; ConfigError where one cannot be asked as it is described."""
    problems = []
    for position, extender in enumerate(given):
        try:
            tls_context(extender)
        except ExtenderTlsError as error:
            problems.append(Problem(f"extenders[{position}]", str(error)))
    if problems:
        raise ConfigError(problems)
    return HttpExtenders(given, asking, observer) if given else None
