"""Health checks in kube's form: `/livez`, `/readyz` and `/healthz`.

`/livez`, `/readyz` and `/healthz` answer `ok`, or 500 and every check by name. `?verbose` always
shows the checks, `?exclude=NAME` leaves one out. `/readyz/NAME`, for those who may see it, and the
log tell why a check fails.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from moorage.observe.logs import say

OK: Final = 200
FAILED: Final = 500
NOT_FOUND: Final = 404
SHUTTING_DOWN: Final = "the process is shutting down"

FailureReason = Callable[[], str | None]
"""Returns what is wrong, or None."""


class Check(NamedTuple):
    """One named check."""

    name: str
    why: FailureReason


class HealthAnswer(NamedTuple):
    """An HTTP status and a text."""

    status: int
    text: str


PING: Final = Check("ping", lambda: None)


class Health:
    """The checks of one process. A process that is `stopping` is not ready."""

    def __init__(
        self,
        live: Sequence[Check] = (),
        ready: Sequence[Check] = (),
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        shutdown = Check("shutdown", lambda: SHUTTING_DOWN if stopping() else None)
        alive = (PING, *live)
        self.endpoints = {"livez": alive, "healthz": alive, "readyz": (PING, *ready, shutdown)}

    def ask(self, endpoint: str, *, verbose: bool, excluded: Collection[str] = ()) -> HealthAnswer:
        """All checks of an endpoint."""
        lines, failed = [], {}
        checks = self.endpoints[endpoint]
        for name, why in checks:
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif (reason := why()) is None:
                lines.append(f"[+]{name} ok")
            else:
                failed[name] = reason
                lines.append(f"[-]{name} failed: reason withheld")
        unknown = sorted(set(excluded) - {check.name for check in checks})
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            say(logging.WARNING, "Not healthy", endpoint=endpoint, **failed)
            return HealthAnswer(FAILED, "\n".join([*lines, f"{endpoint} check failed\n"]))
        return HealthAnswer(
            OK, "\n".join([*lines, f"{endpoint} check passed\n"]) if verbose else "ok"
        )

    def ask_one(self, endpoint: str, name: str) -> HealthAnswer:
        """One check, with its reason."""
        for check in self.endpoints[endpoint]:
            if check.name == name:
                reason = check.why()
                if reason is None:
                    return HealthAnswer(OK, "ok")
                return HealthAnswer(FAILED, f"internal server error: {reason}\n")
        return HealthAnswer(NOT_FOUND, f"no check {name!r} at /{endpoint}\n")
