"""Claims and devices: followed if the API server has them; errands about claims are carried out.

No device is allocated before all claims and slices were listed once: a device that is in use must
be known to be taken. An errand is a change of a claim that PostFilter or Unreserve wants written.
Errands are written here, and retried until the API server answers.
"""

from typing import Any, Final

import msgspec

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.resource_claims import ResourceClaim
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.devices.device_cache import device_cache
from moorage.devices.errands import Errand, ErrandKind
from moorage.framework.events import ANY_EVENT
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.tasks import Later, Start, Wake
from moorage.watch.api_errors import ApiError, Conflict, NotFound
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.api_server import ApiServer

VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
RETRY_SECONDS: Final = 1.0
MOST_TRIES: Final = 600


def versions_of(plural: str, *versions: str) -> tuple[Resource, ...]:
    """A resource in the versions in which it may be served, the newest first."""
    usual = RESOURCES[plural]
    return tuple(msgspec.structs.replace(usual, version=version) for version in versions)


NEEDED: Final = ("resourceclaims", "resourceslices", "deviceclasses")
OPTIONAL: Final = (
    *(versions_of(plural, *VERSIONS) for plural in NEEDED),
    versions_of("devicetaintrules", "v1", "v1beta2", "v1alpha3"),
)


def _may_want_devices(pod: Pod) -> bool:
    """Whether a pod has claims, or requests an extended resource that devices may provide."""
    return bool(pod.spec.resource_claims) or any("/" in name for name in pod.requests)


class ResourceClaims(Feature):
    """Tells plugins when all devices are known, and carries out the errands they leave."""

    optional = OPTIONAL

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        server: ApiServer,
        observers: Observers,
        start: Start,
        later: Later,
        wake: Wake,
    ) -> None:
        self._devices = device_cache(cache)
        self._devices.unlisted = frozenset(NEEDED)
        self._queue = queue
        self._clock = clock
        self._server = server
        self._observers = observers
        self._start = start
        self._later = later
        self._wake = wake
        self._claims = RESOURCES["resourceclaims"]

    def listed(self, resource: Resource, served: bool) -> None:
        if resource.plural == self._claims.plural and served:
            self._claims = resource
        if resource.plural not in self._devices.unlisted:
            return
        self._devices.unlisted -= {resource.plural}
        if not self._devices.unlisted:
            self._queue.move(ANY_EVENT, None, None, self._clock.now(), only=_may_want_devices)

    def tick(self, now: float) -> None:
        errands, self._devices.errands = self._devices.errands, []
        for errand in errands:
            name = f"claim/{errand.kind.value}/{errand.claim.key}"
            self._start(self._carry_out(errand), name)

    def next_due(self) -> float | None:
        return 0.0 if self._devices.errands else None

    async def _carry_out(self, errand: Errand) -> None:
        """Try up to `MOST_TRIES` times until the API server answers; a 4xx answer is final.

        A conflict is no answer: the claim is read again, and the errand retried at once.
        """
        for _ in range(MOST_TRIES):
            try:
                await self._once(errand)
                break
            except NotFound:
                break
            except Conflict:
                continue
            except ApiError as error:
                self._observers.failed(errand.claim.key, "", error)
                if error.status and 400 <= error.status < 500:
                    break
                await self._clock.sleep(max(RETRY_SECONDS, error.retry_after))
        if errand.kind is ErrandKind.SETTLE:
            self._later(lambda: self._free(errand.claim))

    async def _once(self, errand: Errand) -> None:
        claim = await self._latest(errand.claim)
        if claim is None:
            return
        match errand.kind:
            case ErrandKind.DEALLOCATE:
                if not claim.status.reserved_for or claim.status == errand.claim.status:
                    cleared = {"allocation": None, "reservedFor": None, "devices": None}
                    await self._patch_status(claim, cleared)
            case ErrandKind.UNRESERVE | ErrandKind.SETTLE:
                await self._unreserve(claim, errand.pod_uid)
            case ErrandKind.DELETE:
                await self._delete(claim)

    async def _latest(self, known: ResourceClaim) -> ResourceClaim | None:
        """The claim as it is now; None if another claim has taken its name."""
        raw = await self._server.get(self._claims, known.namespace, known.name)
        claim = decode_as(raw, ResourceClaim)
        return claim if claim.uid == known.uid else None

    async def _unreserve(self, claim: ResourceClaim, pod_uid: str) -> None:
        users = [each for each in claim.status.reserved_for if each.uid != pod_uid]
        if len(users) < len(claim.status.reserved_for):
            left = [msgspec.to_builtins(each) for each in users]
            await self._patch_status(claim, {"reservedFor": left or None})
        else:
            self._assume(claim)

    async def _patch_status(self, claim: ResourceClaim, status: dict[str, Any]) -> None:
        meta = claim.metadata
        patch = {
            "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
            "status": status,
        }
        where = (self._claims, claim.namespace, claim.name)
        answer = await self._server.patch(*where, patch, subresource="status")
        self._assume(decode_as(answer, ResourceClaim))

    async def _delete(self, claim: ResourceClaim) -> None:
        meta = claim.metadata
        if FINALIZER in meta.finalizers:
            left = [each for each in meta.finalizers if each != FINALIZER]
            metadata = {"resourceVersion": meta.resource_version, "finalizers": left or None}
            where = (self._claims, claim.namespace, claim.name)
            await self._server.patch(*where, {"metadata": metadata})
        await self._server.delete(self._claims, claim.namespace, claim.name, uid=claim.uid)

    def _assume(self, claim: ResourceClaim) -> None:
        self._later(lambda: self._devices.claims.assume(claim))
        self._wake()

    def _free(self, claim: ResourceClaim) -> None:
        self._devices.claims.leave_allocation(claim.uid, claim.key)
        self._wake()
