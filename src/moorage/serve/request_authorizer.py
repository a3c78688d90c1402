"""Authorizes HTTP requests by TokenReview and SubjectAccessReview.

A bearer token is turned into a user by a TokenReview; whether that user may do `get` on `/metrics`
is a SubjectAccessReview. Without a token the user is anonymous, and usually refused. Verdicts are
kept for ten seconds, kube's own measure; tokens are kept as digests only.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

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
ANONYMOUS: Final[dict[str, Any]] = {
    "username": "system:anonymous",
    "groups": ["system:unauthenticated"],
}

Create = Callable[[Resource, dict[str, Any]], Awaitable[dict[str, Any]]]
"""`ApiServer.create`, or whatever answers reviews."""
V = TypeVar("V")


class Denied(Exception):
    """Not for this caller, or not to be found out."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Authorizer:
    """Asks the API server who may look."""

    def __init__(self, create: Create, now: Callable[[], float] = time.monotonic) -> None:
        self._create = create
        self._users: _Kept[dict[str, Any] | None] = _Kept(now)
        self._verdicts: _Kept[bool] = _Kept(now)

    async def check(self, token: str, verb: str, path: str) -> None:
        """Raise `Denied` unless whoever holds the token may do that."""
        try:
            user = await self._user(token) if token else ANONYMOUS
            if user is None:
                raise Denied(401, "Unauthorized: the token is not valid\n")
            allowed = await self._allowed(user, verb, path)
        except ApiError as error:
            raise Denied(503, f"the API server could not be asked: {error}\n") from error
        if not allowed:
            name = user.get("username", "")
            raise Denied(403, f'Forbidden: user "{name}" cannot {verb} path "{path}"\n')

    async def _user(self, token: str) -> dict[str, Any] | None:
        key = hashlib.sha256(token.encode()).hexdigest()
        if (kept := self._users.get(key)) is not None:
            return kept[0]
        status = await self._review(TOKEN_REVIEWS, {"token": token})
        user = dict(status.get("user") or {}) if status.get("authenticated") else None
        self._users.put(key, user)
        return user

    async def _allowed(self, user: dict[str, Any], verb: str, path: str) -> bool:
        key = repr((sorted(user.items()), verb, path))
        if (kept := self._verdicts.get(key)) is not None:
            return kept[0]
        spec = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        status = await self._review(ACCESS_REVIEWS, spec)
        allowed = bool(status.get("allowed")) and not status.get("denied")
        self._verdicts.put(key, allowed)
        return allowed

    async def _review(self, resource: Resource, spec: dict[str, Any]) -> dict[str, Any]:
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {},
            "spec": spec,
        }
        status: dict[str, Any] = (await self._create(resource, body)).get("status") or {}
        return status


class _Kept(Generic[V]):
    """Answers, for as long as they hold."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: OrderedDict[str, tuple[V, float]] = OrderedDict()

    def get(self, key: str) -> tuple[V] | None:
        found = self._answers.get(key)
        return (found[0],) if found is not None and self._now() < found[1] else None

    def put(self, key: str, answer: V) -> None:
        self._answers[key] = (answer, self._now() + KEPT_SECONDS)
        self._answers.move_to_end(key)
        if len(self._answers) > KEPT:
            self._answers.popitem(last=False)
