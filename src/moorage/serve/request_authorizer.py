"""Authorizes HTTP requests by TokenReview and SubjectAccessReview.

A TokenReview turns a bearer token into a user. A SubjectAccessReview tells whether that user may do
`get` on `/metrics`, say. Without a token the user is anonymous, and usually refused. Verdicts are
kept for ten seconds, as in kube; tokens are kept only as digests. Reviews have a budget
(`review_budget`): a caller who exceeds it is told to try again later.
"""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

import msgspec

from moorage.observe.logs import say
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.serve.review_budget import ReviewBudget
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import Resource

TOKEN_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
KEPT_SECONDS: Final = 10.0
KEPT: Final = 1024
MOST_TOKEN_BYTES: Final = 16_384
TOO_MANY: Final = "Too many requests: callers that are not known are looked up only so often\n"
ANONYMOUS: Final[dict[str, Any]] = {
    "username": "system:anonymous",
    "groups": ["system:unauthenticated"],
}

Create = Callable[[Resource, dict[str, Any]], Awaitable[dict[str, Any]]]
"""`ApiServer.create`, or another function that answers reviews."""
V = TypeVar("V")


class Denied(Exception):
    """The caller may not do this, or nobody could decide whether."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class KeptFor(msgspec.Struct, frozen=True):
    """How many seconds verdicts are kept, by kind."""

    token: float = KEPT_SECONDS
    allowed: float = KEPT_SECONDS
    refused: float = KEPT_SECONDS


class Authorizer:
    """Asks the API server whether callers are allowed.

    `create` answers both kinds of review, unless `access` answers the second.
    """

    def __init__(
        self,
        create: Create,
        now: Callable[[], float] = time.monotonic,
        *,
        access: Create | None = None,
        kept_for: KeptFor = KeptFor(),  # noqa: B008 frozen: sharing it does no harm
        budget: ReviewBudget | None = None,
    ) -> None:
        self._ask_token = create
        self._ask_access = create if access is None else access
        self._kept_for = kept_for
        self.budget = ReviewBudget(now) if budget is None else budget
        self._users: _Kept[dict[str, Any] | None] = _Kept(now)
        self._verdicts: _Kept[bool] = _Kept(now)
        self._under_way: dict[str, asyncio.Future[Any]] = {}
        self._failures = RepeatedFailures(now)

    async def check(
        self,
        token: str,
        verb: str,
        path: str,
        *,
        address: str = "",
        user: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The user of the token, or `user` if given; raises `Denied` if not allowed."""
        try:
            if user is None:
                user = await self._user(token, address) if token else ANONYMOUS
            if user is None:
                raise Denied(401, "Unauthorized: the token is not valid\n")
        except ApiError as error:
            raise self._unanswered(error) from error
        attributes = {"nonResourceAttributes": {"path": path, "verb": verb}}
        if not await self._allowed(user, attributes, address):
            name = user.get("username", "")
            raise Denied(403, f'Forbidden: user "{name}" cannot {verb} path "{path}"\n')
        return user

    async def may(
        self, user: dict[str, Any], verb: str, resource: str, namespace: str, *, address: str = ""
    ) -> bool:
        """Whether the user may do that to this core resource; in all namespaces, without one."""
        attributes = {"namespace": namespace, "verb": verb, "resource": resource, "version": "v1"}
        return await self._allowed(user, {"resourceAttributes": attributes}, address)

    def _unanswered(self, error: ApiError) -> Denied:
        if self._failures.due(error.reason) is not None:
            say(logging.WARNING, "Nobody can be asked who may look", err=str(error))
        return Denied(503, f"the API server could not be asked: {error}\n")

    async def _user(self, token: str, address: str) -> dict[str, Any] | None:
        if len(token) > MOST_TOKEN_BYTES:
            return None
        key = hashlib.sha256(token.encode()).hexdigest()
        if (kept := self._users.get(key)) is not None:
            return kept[0]

        async def ask() -> dict[str, Any] | None:
            status = await _review(self._ask_token, TOKEN_REVIEWS, {"token": token})
            user = dict(status.get("user") or {}) if status.get("authenticated") else None
            self._users.put(key, user, self._kept_for.token)
            if user is not None:
                self.budget.welcome(key)
            return user

        found: dict[str, Any] | None = await self._once(key, key, address, ask)
        return found

    async def _allowed(
        self, user: dict[str, Any], attributes: dict[str, dict[str, str]], address: str
    ) -> bool:
        caller = repr(sorted(user.items()))
        key = f"{caller} {attributes}"
        if (kept := self._verdicts.get(key)) is not None:
            return kept[0]
        spec = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            **attributes,
        }

        async def ask() -> bool:
            status = await _review(self._ask_access, ACCESS_REVIEWS, spec)
            allowed = bool(status.get("allowed")) and not status.get("denied")
            kept_for = self._kept_for.allowed if allowed else self._kept_for.refused
            self._verdicts.put(key, allowed, kept_for)
            if allowed:
                self.budget.welcome(caller)
            return allowed

        try:
            return bool(await self._once(key, caller, address, ask))
        except ApiError as error:
            raise self._unanswered(error) from error

    async def _once(
        self, key: str, caller: str, address: str, ask: Callable[[], Awaitable[V]]
    ) -> V:
        """Ask, unless the same question is pending; all callers share the answer."""
        pending = self._under_way.get(key)
        if pending is None:
            if not self.budget.allows(caller, address):
                raise Denied(429, TOO_MANY)
            pending = self._under_way[key] = asyncio.ensure_future(ask())
            pending.add_done_callback(lambda done: self._ended(key, done))
        answer: V = await asyncio.shield(pending)
        return answer

    def _ended(self, key: str, done: "asyncio.Future[Any]") -> None:
        self._under_way.pop(key, None)
        if not done.cancelled():
            done.exception()


async def _review(create: Create, resource: Resource, spec: dict[str, Any]) -> dict[str, Any]:
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {},
        "spec": spec,
    }
    status: dict[str, Any] = (await create(resource, body)).get("status") or {}
    return status


class _Kept(Generic[V]):
    """Answers that expire."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: OrderedDict[str, tuple[V, float]] = OrderedDict()

    def get(self, key: str) -> tuple[V] | None:
        found = self._answers.get(key)
        return (found[0],) if found is not None and self._now() < found[1] else None

    def put(self, key: str, answer: V, seconds: float) -> None:
        self._answers[key] = (answer, self._now() + seconds)
        self._answers.move_to_end(key)
        if len(self._answers) > KEPT:
            self._answers.popitem(last=False)
