"""Turns an HTTP error or a Kubernetes Status into an `ApiError`."""

from typing import NoReturn

import msgspec

from moorage.watch.api_errors import ApiError, error_from_status


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
    """The exception for an error answer: a Status, or any other text, as of a proxy."""
    try:
        said = _decode(body)
    except msgspec.DecodeError:
        said = Status()
    if said.kind != "Status":
        text = " ".join(body.decode(errors="replace").split())[:200]
        said = Status(code=status, message=f"HTTP {status}: {text}" if text else f"HTTP {status}")
    return error_from_status_object(said, status, _seconds(retry_after))


def raise_watch_error(raw: msgspec.Raw) -> NoReturn:
    """Raise the exception for the ERROR event of a watch."""
    said = _decode(raw)
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


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header)) if header else 0.0
    except ValueError:
        return 0.0
