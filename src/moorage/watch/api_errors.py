"""Errors of an API server as one tree of exceptions.

ApiError                  any refusal: status, reason, message, retry_after
├── BadRequest       400  the request is malformed
├── Unauthorized     401  the server does not know the caller
├── Forbidden        403  the caller may not do this; admission plugins answer so too
├── NotFound         404  no such object
├── AlreadyExists    409  an object of that name exists (reason AlreadyExists)
├── Conflict         409  the object has changed, or is another one (reason Conflict)
├── Gone             410  that version is no longer kept: list again
├── Invalid          422  a field has an invalid value
├── TooManyRequests  429  retry later; a spent disruption budget is answered so too
└── ServerError      5xx  the server's fault
    ├── VersionTooLarge   the server has not reached that version yet: list again
    └── Unreachable  0    no answer at all

Whose fault: 4xx is the caller's, except that another writer may have been faster (Conflict, Gone).
5xx is the cluster's.
"""

from typing import ClassVar


class ApiError(Exception):
    """An error answer, with the message, reason and causes of a Kubernetes Status."""

    STATUS: ClassVar[int] = 0
    REASON: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        causes: tuple[str, ...] = (),
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.STATUS
        self.reason = reason or self.REASON
        self.causes = causes
        self.retry_after = retry_after


class BadRequest(ApiError):
    """The request is malformed."""

    STATUS, REASON = 400, "BadRequest"


class Unauthorized(ApiError):
    """The server does not know the caller."""

    STATUS, REASON = 401, "Unauthorized"


class Forbidden(ApiError):
    """The caller may not do this."""

    STATUS, REASON = 403, "Forbidden"


class NotFound(ApiError):
    """There is no such object."""

    STATUS, REASON = 404, "NotFound"


class AlreadyExists(ApiError):
    """An object of that name exists."""

    STATUS, REASON = 409, "AlreadyExists"


class Conflict(ApiError):
    """The object has changed since it was read, or is another one."""

    STATUS, REASON = 409, "Conflict"


class Gone(ApiError):
    """The requested version is no longer kept."""

    STATUS, REASON = 410, "Expired"


class Invalid(ApiError):
    """A field has an invalid value."""

    STATUS, REASON = 422, "Invalid"


class TooManyRequests(ApiError):
    """Retry later: after `retry_after` seconds, if the server says so."""

    STATUS, REASON = 429, "TooManyRequests"


class ServerError(ApiError):
    """The server failed."""

    STATUS, REASON = 500, "InternalError"


class VersionTooLarge(ServerError):
    """The server has not reached the requested version yet."""

    STATUS, REASON = 504, "Timeout"


class Unreachable(ServerError):
    """The server did not answer."""

    STATUS, REASON = 0, "Unreachable"


TOO_LARGE_VERSION = "Too large resource version"

_BY_STATUS: dict[int, type[ApiError]] = {
    kind.STATUS: kind
    for kind in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        Conflict,
        Gone,
        Invalid,
        TooManyRequests,
    )
}


def error_from_status(
    status: int,
    reason: str,
    message: str,
    *,
    causes: tuple[str, ...] = (),
    retry_after: float = 0.0,
) -> ApiError:
    """The exception for a Status that a server returned."""
    kind = _class_of(status, reason, message)
    return kind(message, status=status, reason=reason, causes=causes, retry_after=retry_after)


def _class_of(status: int, reason: str, message: str) -> type[ApiError]:
    if status == AlreadyExists.STATUS and reason == AlreadyExists.REASON:
        return AlreadyExists
    if status >= 500:
        return VersionTooLarge if TOO_LARGE_VERSION in message else ServerError
    return _BY_STATUS.get(status, ApiError)
