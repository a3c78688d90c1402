"""Turns an HTTP error or a Kubernetes Status into an `ApiError`."""

from typing import Final, NoReturn

import msgspec

from moorage.api.decode import UNREADABLE
from moorage.watch.api_errors import ApiError, ServerError, error_from_status

QUOTED: Final = 200
"""How much is quoted of what is no Status."""
REDIRECTED: Final = ": a redirect, which an API server does not answer with: is this its address?"


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[_Cause, ...] = ()
    retry_after_seconds: float = 0.0


class Status(msgspec.Struct, frozen=True):
    """A Kubernetes Status."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decode = msgspec.json.Decoder(Status).decode


def error_from_response(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The exception for an answer that is none: a Status, or whatever a proxy said."""
    said = _status_in(body)
    if said.kind != "Status":
        text = _quoted(body)
        message = f"HTTP {status}{REDIRECTED if status < 400 else ''}"
        said = Status(code=status, message=f"{message}: {text}" if text else message)
    return error_from_status_object(said, status, _seconds(retry_after))


def raise_watch_error(raw: msgspec.Raw) -> NoReturn:
    """Raise what the server says in the ERROR event of a watch."""
    said = _status_in(raw)
    if said.kind != "Status":
        raise ServerError(f"the watch ended with no Status: {_quoted(bytes(raw))}")
    raise error_from_status_object(said, said.code or 500)


def error_from_status_object(said: Status, status: int, retry_after: float = 0.0) -> ApiError:
    """The exception for a Status."""
    details = said.details or _Details()
    return error_from_status(
        status,
        said.reason,
        said.message,
        causes=tuple(cause.message or cause.reason for cause in details.causes),
        retry_after=retry_after or details.retry_after_seconds,
    )


def _status_in(raw: bytes | msgspec.Raw) -> Status:
    """A Status; an empty one where it is something else."""
    try:
        return _decode(raw)
    except UNREADABLE:
        return Status()


def _quoted(raw: bytes) -> str:
    return " ".join(raw.decode(errors="replace").split())[:QUOTED]


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header)) if header else 0.0
    except ValueError:
        return 0.0
