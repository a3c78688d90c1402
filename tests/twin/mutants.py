"""Mutants: the scheduler with one safeguard taken out. The twin must find each of them."""

import contextlib
from collections.abc import AsyncIterator, Callable, Container, Iterator
from unittest import mock

from moorage.api.pod import Pod
from moorage.app.leadership import Leadership
from moorage.gang.group import Group
from moorage.gang.pod_reasons import PodReasons
from moorage.kube import fence
from moorage.kube.fence import LeaseFence
from moorage.scheduler import optional_resources
from moorage.scheduler.status_writer import StatusWriter


async def _lead_at_once(self: Leadership) -> None:
    self._active.set()
    await self._freshness.run()


@contextlib.asynccontextmanager
async def _bind_at_once(self: StatusWriter, uid: str) -> AsyncIterator[None]:
    yield


@contextlib.contextmanager
def old_view() -> Iterator[None]:
    """A new leader decides on what it happens to know."""
    with mock.patch.object(Leadership, "_lead", _lead_at_once):
        yield


@contextlib.contextmanager
def open_fence() -> Iterator[None]:
    """A leader that slept through its lease goes on, and writes."""
    with (
        mock.patch.object(LeaseFence, "check", return_value=None),
        mock.patch.object(Leadership, "may_attempt", return_value=True),
    ):
        yield


@contextlib.contextmanager
def unfenced_pods() -> Iterator[None]:
    """A kind of object is on the wrong list, so its writes do not look at the lease."""
    with mock.patch.object(fence, "UNFENCED", fence.UNFENCED | {("", "pods")}):
        yield


@contextlib.contextmanager
def hasty_binding() -> Iterator[None]:
    """A pod is bound while its failure is still being written."""
    with mock.patch.object(StatusWriter, "binding", _bind_at_once):
        yield


@contextlib.contextmanager
def first_refusal_believed() -> Iterator[None]:
    """What a starting API server refuses is taken as absent."""
    with mock.patch.object(optional_resources, "SURE_AFTER_SECONDS", 0.0):
        yield


def _only_those_seen(self: Group, assumed: Container[str]) -> dict[str, Pod]:
    return self.placed


@contextlib.contextmanager
def members_in_flight_forgotten() -> Iterator[None]:
    """A pod of a gang whose binding is under way does not count as one of it."""
    with mock.patch.object(Group, "on_nodes", _only_those_seen):
        yield


@contextlib.contextmanager
def silent_gangs() -> Iterator[None]:
    """Pods of a gang that is not whole are not told what it waits for."""
    with mock.patch.object(PodReasons, "review", return_value=True):
        yield


MUTANTS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "old view": old_view,
    "open fence": open_fence,
    "unfenced pods": unfenced_pods,
    "hasty binding": hasty_binding,
    "first refusal believed": first_refusal_believed,
    "members in flight forgotten": members_in_flight_forgotten,
    "silent gangs": silent_gangs,
}
