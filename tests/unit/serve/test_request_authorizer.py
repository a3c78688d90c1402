"""The API server is asked who may look, and not more often than needed."""

import asyncio
from typing import Any

import pytest

from moorage.serve import request_authorizer
from moorage.serve.request_authorizer import KEPT, KEPT_SECONDS, Authorizer, Denied, KeptFor
from moorage.serve.review_budget import EACH_ADDRESS, STRANGERS, ReviewBudget
from moorage.watch.api_errors import Unreachable
from moorage.watch.api_resources import Resource

USERS = {"good": "prometheus", "other": "somebody"}
ALLOWED = {("prometheus", "get", "/metrics")}


class Reviews:
    """An API server that answers reviews."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.reachable = True

    async def create(self, resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        if not self.reachable:
            raise Unreachable("connection refused")
        assert (obj["apiVersion"], obj["kind"]) == (resource.api_version, resource.kind)
        assert obj["metadata"] == {}
        self.asked.append((resource.plural, obj["spec"]))
        spec = obj["spec"]
        if resource is request_authorizer.TOKEN_REVIEWS:
            name = USERS.get(spec["token"])
            user = {"username": name, "groups": ["system:authenticated"], "uid": "1"}
            return {"status": {"authenticated": True, "user": user} if name else {}}
        attributes = spec["nonResourceAttributes"]
        key = (spec["user"], attributes["verb"], attributes["path"])
        return {"status": {"allowed": key in ALLOWED}}


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authorizer(reviews: Reviews, clock: Clock) -> Authorizer:
    return Authorizer(reviews.create, clock)


def check(authorizer: Authorizer, token: str, path: str = "/metrics") -> int:
    try:
        asyncio.run(authorizer.check(token, "get", path))
    except Denied as denied:
        return denied.status
    return 200


@pytest.mark.parametrize(
    ("token", "path", "want"),
    [
        pytest.param("good", "/metrics", 200, id="a user who may"),
        pytest.param("good", "/debug/stacks", 403, id="may not do everything"),
        pytest.param("other", "/metrics", 403, id="another may not"),
        pytest.param("forged", "/metrics", 401, id="a token that is not valid is nobody's"),
        pytest.param("", "/metrics", 403, id="without a token one is anonymous"),
    ],
)
def test_verdicts(authorizer: Authorizer, token: str, path: str, want: int) -> None:
    assert check(authorizer, token, path) == want


def test_the_review_names_user_groups_and_path(authorizer: Authorizer, reviews: Reviews) -> None:
    check(authorizer, "good")

    assert reviews.asked[1] == (
        "subjectaccessreviews",
        {
            "user": "prometheus",
            "groups": ["system:authenticated"],
            "uid": "1",
            "extra": {},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        },
    )


def test_anonymous_callers_are_not_reviewed_for_a_token(
    authorizer: Authorizer, reviews: Reviews
) -> None:
    check(authorizer, "")

    assert [plural for plural, _ in reviews.asked] == ["subjectaccessreviews"]
    assert reviews.asked[0][1]["user"] == "system:anonymous"


@pytest.mark.parametrize("token", ["good", "other", "forged"])
def test_verdicts_are_kept_for_ten_seconds(
    authorizer: Authorizer, reviews: Reviews, clock: Clock, token: str
) -> None:
    first = check(authorizer, token)
    asked = len(reviews.asked)
    clock.time = KEPT_SECONDS - 0.1

    assert check(authorizer, token) == first
    assert len(reviews.asked) == asked

    clock.time = KEPT_SECONDS
    check(authorizer, token)
    assert len(reviews.asked) == 2 * asked


def test_a_server_that_cannot_be_asked_allows_nothing_and_the_log_says_so(
    authorizer: Authorizer, reviews: Reviews, caplog: pytest.LogCaptureFixture
) -> None:
    """Prometheus shows no more than a 503, and probes go on well."""
    reviews.reachable = False

    assert [check(authorizer, "good"), check(authorizer, "good")] == [503, 503]
    assert [each.message for each in caplog.records] == ["Nobody can be asked who may look"]

    reviews.reachable = True
    assert check(authorizer, "good") == 200


def test_only_so_many_verdicts_are_kept(reviews: Reviews, clock: Clock) -> None:
    authorizer = Authorizer(reviews.create, clock, budget=Boundless(clock))

    async def many() -> None:
        for number in range(KEPT + 1):
            with pytest.raises(Denied):
                await authorizer.check(f"token-{number}", "get", "/metrics")

    asyncio.run(many())
    asked = len(reviews.asked)
    check(authorizer, f"token-{KEPT}")
    assert len(reviews.asked) == asked
    check(authorizer, "token-0")
    assert len(reviews.asked) == asked + 1


class Boundless(ReviewBudget):
    def allows(self, caller: str, address: str) -> bool:
        return True


def flood(authorizer: Authorizer, seconds: int, clock: Clock, address: str = "10.0.0.66") -> int:
    """Thirty made-up tokens a second; how many were turned away unasked."""

    async def main() -> int:
        refused = 0
        for number in range(30 * seconds):
            clock.time += 1 / 30
            try:
                await authorizer.check(f"forged-{number}", "get", "/metrics", address=address)
            except Denied as denied:
                refused += denied.status == 429
        return refused

    return asyncio.run(main())


def test_made_up_tokens_cost_few_reviews(
    authorizer: Authorizer, reviews: Reviews, clock: Clock
) -> None:
    refused = flood(authorizer, 20, clock)

    assert len(reviews.asked) <= EACH_ADDRESS.burst + 20 * EACH_ADDRESS.per_second + 1
    assert refused == 600 - len(reviews.asked)


def test_a_flood_from_many_addresses_is_bounded_too(
    authorizer: Authorizer, reviews: Reviews, clock: Clock
) -> None:
    for number in range(100):
        flood(authorizer, 1, clock, f"10.0.1.{number}")

    assert len(reviews.asked) <= STRANGERS.burst + 100 * STRANGERS.per_second + 1


def test_whoever_was_let_in_is_let_in_during_a_flood(authorizer: Authorizer, clock: Clock) -> None:
    """Even from the same address, and after his verdict has expired."""
    assert check(authorizer, "good") == 200
    for _ in range(5):
        flood(authorizer, 12, clock, "")
        assert check(authorizer, "good") == 200


def test_someone_new_is_let_in_from_another_address(authorizer: Authorizer, clock: Clock) -> None:
    flood(authorizer, 12, clock)

    assert check(authorizer, "good") == 200


def test_the_same_question_is_asked_once_at_a_time(
    authorizer: Authorizer, reviews: Reviews
) -> None:
    async def main() -> None:
        await asyncio.gather(*(authorizer.check("good", "get", "/metrics") for _ in range(50)))

    asyncio.run(main())

    assert len(reviews.asked) == 2


def test_a_token_of_many_kilobytes_is_nobodys(authorizer: Authorizer, reviews: Reviews) -> None:
    assert check(authorizer, "x" * 20_000) == 401
    assert reviews.asked == []


def test_verdicts_may_be_kept_for_other_times(reviews: Reviews, clock: Clock) -> None:
    authorizer = Authorizer(reviews.create, clock, kept_for=KeptFor(60, 60, 1))
    check(authorizer, "other")
    asked = len(reviews.asked)
    clock.time = 30

    check(authorizer, "other")

    assert len(reviews.asked) == asked + 1
