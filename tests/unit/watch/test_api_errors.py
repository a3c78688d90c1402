import pytest

from moorage.watch import api_errors
from moorage.watch.api_errors import ApiError


@pytest.mark.parametrize(
    ("status", "reason", "message", "want"),
    [
        pytest.param(400, "BadRequest", "", api_errors.BadRequest, id="400 is a bad request"),
        pytest.param(401, "Unauthorized", "", api_errors.Unauthorized, id="401 is unauthorized"),
        pytest.param(403, "Forbidden", "", api_errors.Forbidden, id="403 is forbidden"),
        pytest.param(404, "NotFound", "", api_errors.NotFound, id="404 is not found"),
        pytest.param(409, "Conflict", "", api_errors.Conflict, id="409 is a conflict"),
        pytest.param(
            409,
            "AlreadyExists",
            "",
            api_errors.AlreadyExists,
            id="409 AlreadyExists is no conflict",
        ),
        pytest.param(410, "Gone", "", api_errors.Gone, id="410 is gone"),
        pytest.param(422, "Invalid", "", api_errors.Invalid, id="422 is invalid"),
        pytest.param(429, "", "", api_errors.TooManyRequests, id="429 is too many requests"),
        pytest.param(
            500, "InternalError", "", api_errors.ServerError, id="500 is the server's fault"
        ),
        pytest.param(503, "", "", api_errors.ServerError, id="503 is the server's fault"),
        pytest.param(
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 3",
            api_errors.VersionTooLarge,
            id="a version in the future is told apart from other timeouts",
        ),
        pytest.param(418, "Teapot", "", ApiError, id="any other status is still an ApiError"),
    ],
)
def test_from_status(status: int, reason: str, message: str, want: type[ApiError]) -> None:
    error = api_errors.error_from_status(status, reason, message)

    assert type(error) is want
    assert (error.status, error.message) == (status, message)


def test_a_status_keeps_its_reason_causes_and_delay() -> None:
    error = api_errors.error_from_status(
        429, "TooManyRequests", "later", causes=("why",), retry_after=3.0
    )

    assert (error.reason, error.causes, error.retry_after) == ("TooManyRequests", ("why",), 3.0)
    assert str(error) == "later"


def test_an_error_raised_here_has_the_status_of_its_class() -> None:
    error = api_errors.Conflict("no")

    assert (error.status, error.reason) == (409, "Conflict")
