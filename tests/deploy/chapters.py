"""What a scheduler does for a living, in chapters: together they use every right that it has.

Each chapter has a node of its own, so that they may be played at once; but for the one on telling,
which wants nothing else to change.
"""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.clock import SystemClock
from moorage.kube.fence import LeaseFence
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.serve.request_authorizer import Authorizer
from tests.integration.grouping import (
    GROUPS,
    OWN_GROUPS,
    group,
    members,
    own_group,
    own_members,
    quota,
    quota_path,
    until_bound,
)
from tests.integration.harness import Running, eventually
from tests.integration.making import OURS, Raw, node, pod
from tests.integration.storage import (
    NO_PROVISIONER,
    PROVISIONER,
    ZONE,
    Controllers,
    claim,
    mounting,
    storage_class,
    volume,
)
from tests.integration.test_claims import RESOURCE, device_class, releasing, resource_slice
from tests.integration.test_claims import claim as device_claim

Chapter = Callable[[Running], Awaitable[None]]
EVICTING = "evicting"
PODS = "/api/v1/namespaces/default/pods"
PROFILES: list[Raw] = [
    {
        "schedulerName": OURS,
        "plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}},
    },
    {
        "schedulerName": EVICTING,
        "pluginConfig": [{"name": "DefaultPreemption", "args": {"evictionAPI": True}}],
    },
]


def _place(chapter: str, cpu: str = "2") -> Raw:
    return node(chapter, cpu=cpu, labels={"chapter": chapter, ZONE: chapter})


def _pod(chapter: str, name: str, **spec: Any) -> Raw:
    return pod(f"{chapter}-{name}", nodeSelector={"chapter": chapter}, **spec)


async def telling(under_test: Running) -> None:
    """A pod is bound, one is told why not; told the same again, its event becomes a series."""
    await under_test.create(_place("telling"))
    await under_test.create(_pod("telling", "small"), _pod("telling", "huge", cpu="64"))
    await under_test.placed("telling-small")
    await under_test.events("telling-small", "Scheduled")
    await under_test.condition("telling-huge", "Unschedulable")
    await under_test.request("DELETE", f"{PODS}/telling-small")

    async def again() -> bool:
        found = await under_test.events("telling-huge", "FailedScheduling")
        return any(event.get("series", {}).get("count", 0) > 1 for event in found)

    await eventually(again, lambda: f"no series: {under_test.seen.attempts}")


def making_room(scheduler: str) -> Chapter:
    """A pod makes room for itself, by deleting or by evicting."""

    async def chapter(under_test: Running) -> None:
        here = f"room-{scheduler}"
        await under_test.create(_place(here))
        await under_test.create(_pod(here, "low", cpu="1500m", scheduler=scheduler))
        await under_test.placed(f"{here}-low")
        high = {"priorityClassName": "system-node-critical"}
        await under_test.create(_pod(here, "high", cpu="1500m", scheduler=scheduler, **high))
        await under_test.placed(f"{here}-high")
        await under_test.events(f"{here}-low", "Preempted")

    return chapter


async def volumes(under_test: Running) -> None:
    """A claim is bound to a volume that is there, another to one that is made."""
    await under_test.create(
        _place("volumes"),
        storage_class("local", NO_PROVISIONER),
        storage_class("made", PROVISIONER),
        volume("disk", "local", "volumes"),
        claim("kept", "local"),
        claim("scratch", "made"),
    )
    async with Controllers(under_test).working():
        mounted = mounting("kept", "scratch")
        await under_test.create(_pod("volumes", "db", volumes=mounted))
        await under_test.placed("volumes-db")


async def devices(under_test: Running) -> None:
    """A claim is met, and one is made for a pod that asks for devices as a resource."""
    here = "devices"
    await under_test.create(_place(here), device_class(), resource_slice(here, "new", "new"))
    async with releasing(under_test):
        claimed = _pod(
            here, "claimed", resourceClaims=[{"name": "gpu", "resourceClaimName": "own"}]
        )
        counted = _pod(here, "counted")
        container = counted["spec"]["containers"][0]
        container["resources"]["limits"] = {RESOURCE: "1"}
        await under_test.create(device_claim("own"), claimed, counted)
        await under_test.placed(f"{here}-claimed", f"{here}-counted")


async def groups(under_test: Running) -> None:
    """Groups of both kinds are scheduled, and told so."""
    await under_test.create(node("groups", cpu="8"))
    await under_test.request("POST", GROUPS, group("theirs", 2))
    await under_test.create(*members("theirs", 2))
    await until_bound(under_test, "theirs", 2)
    await eventually(_told(under_test, f"{GROUPS}/theirs"), lambda: "theirs is not told")


async def own_groups(under_test: Running) -> None:
    await under_test.create(node("own-groups", cpu="8"))
    await under_test.request("POST", OWN_GROUPS, own_group("own", 2))
    await under_test.create(*own_members("own", 2))
    await until_bound(under_test, "own", 2)
    await eventually(_told(under_test, f"{OWN_GROUPS}/own"), lambda: "own is not told")


async def quotas(under_test: Running) -> None:
    """What a namespace uses is written."""
    path = quota_path("default")
    await under_test.request("POST", path.rpartition("/")[0], quota("default", {}, {"cpu": "999"}))
    await eventually(_told(under_test, path), lambda: "the quota is not told")


async def rejections(under_test: Running) -> None:
    """A kubelet rejects a pod, which is looked up, and so is its node."""
    await under_test.create(_place("rejections"), _pod("rejections", "web"))
    await under_test.placed("rejections-web")
    refusal = {"status": {"phase": "Failed", "reason": "OutOfcpu"}}
    await under_test.request("PATCH", f"{PODS}/rejections-web/status", refusal)
    await under_test.events("rejections-web", "NodeRejected")


async def leading(under_test: Running) -> None:
    """A lease is taken, held and released."""
    elector = LeaderElector(
        under_test.server,
        LeaseTimes(name=OURS, namespace="moorage-system"),
        "me",
        LeaseFence(15.0),
        clock=SystemClock(),
        rng=random.Random(1),
    )
    await elector.acquire()
    assert elector.leading
    await elector.release()


async def showing(under_test: Running) -> None:
    """Somebody asks for metrics, and the API server is asked whether he may see them."""
    await Authorizer(under_test.server.create).check(under_test.plane.token, "get", "/metrics")


def _told(under_test: Running, path: str) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return bool((await under_test.request("GET", path)).get("status"))

    return check


deleting, evicting = making_room(OURS), making_room(EVICTING)

AT_ONCE: tuple[Chapter, ...] = (
    deleting,
    evicting,
    volumes,
    devices,
    groups,
    own_groups,
    quotas,
    rejections,
    leading,
    showing,
)

WRITTEN_IN: dict[str, Chapter] = {
    "create pods/binding": telling,
    "patch pods/status": telling,
    "create events.events.k8s.io": telling,
    "patch events.events.k8s.io": telling,
    "delete pods": deleting,
    "create pods/eviction": evicting,
    "patch persistentvolumes": volumes,
    "patch persistentvolumeclaims": volumes,
    "create resourceclaims.resource.k8s.io": devices,
    "patch resourceclaims.resource.k8s.io": devices,
    "patch resourceclaims/status.resource.k8s.io": devices,
    "patch podgroups/status.scheduling.x-k8s.io": groups,
    "patch podgroups/status.scheduling.k8s.io": own_groups,
    "patch elasticquotas/status.scheduling.x-k8s.io": quotas,
    "get pods": rejections,
    "get nodes": rejections,
    "create leases.coordination.k8s.io": leading,
    "get leases.coordination.k8s.io": leading,
    "update leases.coordination.k8s.io": leading,
    "create tokenreviews.authentication.k8s.io": showing,
    "create subjectaccessreviews.authorization.k8s.io": showing,
}
"""Which chapter uses a right; to list and to watch is needed for all of them."""

NOT_PLAYED: dict[str, str] = {
    "get resourceclaims.resource.k8s.io": "read again when somebody else has written the claim",
    "delete resourceclaims.resource.k8s.io": "undone when a pod with a claim made for it fails",
    "patch resourceclaims/binding.resource.k8s.io": "asked by the API server about status writes",
    "update resourceclaims/binding.resource.k8s.io": "asked by the API server about status writes",
}
"""Rights that no chapter can be made to need, and what they are for."""
