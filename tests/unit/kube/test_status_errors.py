import msgspec
import pytest

from moorage.kube.status_errors import error_from_response, raise_watch_error
from moorage.watch.api_errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    VersionTooLarge,
)


def status(code: int, reason: str, message: str = "no", **details: object) -> bytes:
    return msgspec.json.encode(
        {
            "kind": "Status",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": details,
        }
    )


@pytest.mark.parametrize(
    ("code", "reason", "message", "want"),
    [
        pytest.param(401, "Unauthorized", "", Unauthorized, id="unknown callers"),
        pytest.param(403, "Forbidden", "", Forbidden, id="callers without the right"),
        pytest.param(404, "NotFound", "", NotFound, id="missing objects"),
        pytest.param(409, "AlreadyExists", "", AlreadyExists, id="objects that are there"),
        pytest.param(409, "Conflict", "", Conflict, id="objects that have changed"),
        pytest.param(410, "Expired", "", Gone, id="versions that are gone"),
        pytest.param(429, "TooManyRequests", "", TooManyRequests, id="too many requests"),
        pytest.param(500, "InternalError", "", ServerError, id="failing servers"),
        pytest.param(
            504, "Timeout", "Timeout: Too large resource version: 9", VersionTooLarge, id="futures"
        ),
    ],
)
def test_a_status_becomes_its_exception(
    code: int, reason: str, message: str, want: type[ApiError]
) -> None:
    error = error_from_response(code, status(code, reason, message or "no"))

    assert type(error) is want
    assert (error.status, error.reason, error.message) == (code, reason, message or "no")


def test_causes_are_kept() -> None:
    causes = [{"reason": "DisruptionBudget", "message": "needs 1"}]

    assert error_from_response(429, status(429, "TooManyRequests", causes=causes)).causes == (
        "needs 1",
    )


@pytest.mark.parametrize(
    ("header", "details", "want"),
    [
        pytest.param("3", {}, 3.0, id="the header says when"),
        pytest.param(None, {"retryAfterSeconds": 7}, 7.0, id="the details say when"),
        pytest.param("3", {"retryAfterSeconds": 7}, 3.0, id="the header before the details"),
        pytest.param("soon", {"retryAfterSeconds": 7}, 7.0, id="the details before nonsense"),
        pytest.param("-3", {}, 0.0, id="no time is in the past"),
        pytest.param("soon", {}, 0.0, id="nonsense says nothing"),
    ],
)
def test_when_to_come_back(header: str | None, details: dict[str, object], want: float) -> None:
    body = status(429, "TooManyRequests", "no", **details)

    assert error_from_response(429, body, header).retry_after == want


def test_what_a_proxy_says_is_quoted() -> None:
    error = error_from_response(502, b"<html>\n bad\n gateway</html>")

    assert isinstance(error, ServerError)
    assert error.message == "HTTP 502: <html> bad gateway</html>"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"kind":"Status","message":"\xff"}', id="bytes that are no text"),
        pytest.param(b"[" * 100_000, id="lists in lists without end"),
        pytest.param(b'{"kind":"Status","code":"much"}', id="a code that is no number"),
    ],
)
def test_what_cannot_be_read_is_quoted_too(body: bytes) -> None:
    error = error_from_response(502, body)

    assert isinstance(error, ServerError)
    assert error.message.startswith(f"HTTP 502: {body[:10].decode()}")


def test_a_redirect_is_told_to_be_none_of_an_api_servers_answers() -> None:
    assert "HTTP 302: a redirect, which an API server does" in error_from_response(302, b"").message


def test_silence_is_told_by_its_number() -> None:
    assert error_from_response(503, b"").message == "HTTP 503"


def test_an_error_event_of_a_watch_is_raised() -> None:
    with pytest.raises(Gone, match="too old"):
        raise_watch_error(msgspec.Raw(status(410, "Expired", "too old resource version")))
