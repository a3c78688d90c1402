"""Leader election over a Lease: one replica leads, the others wait until it expires.

    (waiting) --acquire--> LEADING --hold: renewed every retry period--> LEADING
    LEADING --not renewed within the renew deadline, or taken by another--> LeaseLost
    LEADING --release--> (waiting), and another may take over at once

The semantics and the record are client-go's: a lease has expired when its own duration has passed
since this replica last saw it change, by this replica's clock. Beyond client-go:

- The elector renews a fence (`moorage.kube.fence`): a process that was suspended while its lease
  expired notices that before it writes, not after.
- A lease is taken only `LAST_SEND_SECONDS` after it has expired, when the holder's last requests
  have arrived or never will. The same holds for a lease that was deleted while it was held.
- Where the namespace of the lease is Moorage's own and is missing, as it is for who runs Moorage
  outside of a cluster where nothing is deployed yet, it is made.
- The holder writes the scheduler names that it serves to the annotation `SERVES`. A replica that
  waits for a holder which serves none of its own names reports that it waits in vain.
"""

import contextlib
import math
import random
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

import msgspec

from moorage.clock import Clock, within
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.watch.api_errors import AlreadyExists, ApiError, NotFound, Unreachable
from moorage.watch.api_resources import LEASES, NAMESPACES
from moorage.watch.api_server import ApiServer, Raw

JITTER: Final = 1.2
"""Waiting replicas ask again after 1 to 2.2 retry periods, so that they do not all ask at once."""

LAST_SEND_SECONDS: Final = 1.0
"""How long requests that a holder sent just before its lease expired may take to arrive."""

SERVES: Final = "moorage.io/scheduler-names"
"""The annotation of a lease with the holder's scheduler names, separated by commas."""

OF_ANOTHER: Final = (
    "Lease {} is held by {}, which schedules for {}: pods of {} wait for as long as it does; give "
    "this scheduler a Lease of its own (leaderElection.resourceName, or "
    "--leader-elect-resource-name)"
)

T = TypeVar("T")


class ElectionNews(msgspec.Struct, frozen=True):
    """An event of the election: this replica began to lead, stopped leading, or met an error.

    "namespace": it made the namespace of the lease.
    "in vain": the holder it waits for has other scheduler names, so it does not schedule our pods.
    """

    kind: Literal["leading", "stopped", "trouble", "in vain", "namespace"]
    sentence: str


Told = Callable[[ElectionNews], None]


class LeaseTimes(msgspec.Struct, frozen=True):
    """The lease's name, and the times of the election in seconds."""

    name: str = "moorage"
    namespace: str = "moorage-system"
    makes_namespace: bool = False
    """Make the namespace where it is missing."""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @property
    def whole_seconds(self) -> int:
        """The duration written to the lease, rounded up so that others wait long enough."""
        return math.ceil(self.lease_duration)


class LeaderElector:
    """One replica's part in the election; `told` is called with every event.

    `serves` returns the scheduler names whose pods this replica schedules while it leads.
    """

    def __init__(
        self,
        server: ApiServer,
        terms: LeaseTimes,
        identity: str,
        fence: LeaseFence,
        *,
        clock: Clock,
        rng: random.Random,
        told: Told = lambda news: None,
        serves: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.terms = terms
        self.identity = identity
        self._fence = fence
        self._server = server
        self._clock = clock
        self._rng = rng
        self._now = fence.now
        self._told = told
        self._serves = serves
        self._lease: Raw = {}
        self._seen_at = 0.0
        self._renewed_at = 0.0

    @property
    def leading(self) -> bool:
        """Whether this replica leads, as far as it knows."""
        return self._fence.leading

    @property
    def holder(self) -> str:
        """The holder that was last seen; empty if there was none."""
        return str(_spec(self._lease).get("holderIdentity") or "")

    @property
    def seconds_left(self) -> float:
        """How long this replica certainly leads."""
        return self._fence.seconds_left

    async def acquire(self) -> None:
        """Return when this replica leads."""
        while not await self._try():
            period = self.terms.retry_period
            await self._clock.sleep(period * (1 + JITTER * self._rng.random()))
        self._fence.renewed(self._renewed_at)
        self._told(ElectionNews("leading", f"{self.identity} became leader"))

    async def hold(self) -> None:
        """Renew the lease until it is released; `LeaseLost` when it is lost."""
        deadline = self._renewed_at + self.terms.renew_deadline
        while self.leading:
            await self._clock.sleep(min(self.terms.retry_period, max(0.0, deadline - self._now())))
            if not self.leading:
                return
            if await self._try():
                self._fence.renewed(self._renewed_at)
                deadline = self._renewed_at + self.terms.renew_deadline
            elif self.holder not in ("", self.identity):
                self._lose(f"{self.holder} has taken the lease")
            elif self._now() >= deadline:
                self._lose(f"not renewed within {self.terms.renew_deadline:g} s")

    async def release(self) -> None:
        """Let another replica take over without waiting for the lease to expire."""
        if not self.leading:
            return
        self._fence.close()
        try:
            lease = await self._get()
            if lease is not None and _spec(lease).get("holderIdentity") == self.identity:
                now = self._stamp()
                freed = {"leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
                await self._put(lease, {**freed, "holderIdentity": ""})
        except ApiError as error:
            self._told(ElectionNews("trouble", f"the lease could not be released: {error}"))
            return
        self._told(ElectionNews("stopped", f"{self.identity} stopped leading"))

    def _lose(self, why: str) -> None:
        self._fence.close()
        raise LeaseLost(f"leader election lost: {why}")

    async def _try(self) -> bool:
        """Acquire or renew the lease; False if another replica leads, or no answer came."""
        began = self._now()
        try:
            if not await self._acquire_or_renew():
                return False
        except ApiError as error:
            trouble = f"the lease could not be acquired or renewed: {error}"
            self._told(ElectionNews("trouble", trouble))
            return False
        self._renewed_at = began
        return True

    async def _acquire_or_renew(self) -> bool:
        lease = await self._get()
        now = self._stamp()
        mine = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.terms.whole_seconds,
            "acquireTime": now,
            "renewTime": now,
        }
        if lease is None and self._is_held():
            return False
        if lease is None:
            self._see(await self._create(mine))
            return True
        self._see(lease)
        spec = _spec(lease)
        if self.holder == self.identity:
            mine["acquireTime"] = spec.get("acquireTime", now)
        elif self._is_held():
            self._tell_of_another()
            return False
        else:
            mine["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        self._see(await self._put(lease, mine))
        return True

    def _tell_of_another(self) -> None:
        """Report it if the holder serves none of our scheduler names."""
        theirs, ours = _served(self._lease), sorted(self._serves())
        if theirs and ours and theirs.isdisjoint(ours):
            lease = f"{self.terms.namespace}/{self.terms.name}"
            names = ", ".join(sorted(theirs)), ", ".join(ours)
            self._told(ElectionNews("in vain", OF_ANOTHER.format(lease, self.holder, *names)))

    def _see(self, lease: Raw) -> None:
        if _spec(lease) != _spec(self._lease):
            self._seen_at = self._now()
        self._lease = lease

    def _is_held(self) -> bool:
        """Whether another replica holds the lease, or its last requests may still arrive."""
        if self.holder in ("", self.identity):
            return False
        seconds = float(_spec(self._lease).get("leaseDurationSeconds") or 0)
        return self._now() < self._seen_at + seconds + LAST_SEND_SECONDS

    async def _get(self) -> Raw | None:
        try:
            where = (self.terms.namespace, self.terms.name)
            return await self._soon(self._server.get(LEASES, *where))
        except NotFound:
            return None

    async def _create(self, spec: Raw) -> Raw:
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"namespace": self.terms.namespace, "name": self.terms.name},
            "spec": {**spec, "leaseTransitions": 0},
        }
        signed = self._signed(lease)
        try:
            return await self._soon(self._server.create(LEASES, signed))
        except NotFound:
            if not self.terms.makes_namespace:
                raise
        await self._make_namespace()
        return await self._soon(self._server.create(LEASES, signed))

    async def _make_namespace(self) -> None:
        name = self.terms.namespace
        namespace = {
            "apiVersion": NAMESPACES.api_version,
            "kind": NAMESPACES.kind,
            "metadata": {"name": name},
        }
        with contextlib.suppress(AlreadyExists):
            await self._soon(self._server.create(NAMESPACES, namespace))
            self._told(ElectionNews("namespace", f"made the namespace {name} for the lease"))

    async def _put(self, lease: Raw, changes: Raw) -> Raw:
        changed = {**lease, "spec": {**_spec(lease), **changes}}
        return await self._soon(self._server.update(LEASES, self._signed(changed)))

    def _signed(self, lease: Raw) -> Raw:
        """The lease, annotated with the scheduler names we serve."""
        names = ",".join(sorted(self._serves()))
        if not names:
            return lease
        metadata = lease["metadata"]
        annotations = {**(metadata.get("annotations") or {}), SERVES: names}
        return {**lease, "metadata": {**metadata, "annotations": annotations}}

    async def _soon(self, asking: Awaitable[T]) -> T:
        """The answer; as in client-go, `Unreachable` after half the renew deadline."""
        try:
            return await within(self._clock, max(1.0, self.terms.renew_deadline / 2), asking)
        except TimeoutError as error:
            raise Unreachable(str(error)) from None

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def identity() -> str:
    """A unique name for this replica: the host's name and a random part."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _served(lease: Raw) -> set[str]:
    """The scheduler names of a lease's holder; empty if the lease does not name any."""
    annotations = (lease.get("metadata") or {}).get("annotations") or {}
    return set(filter(None, str(annotations.get(SERVES) or "").split(",")))


def _spec(lease: Raw) -> dict[str, Any]:
    found: dict[str, Any] = lease.get("spec") or {}
    return found
