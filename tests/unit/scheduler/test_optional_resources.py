"""Resources that an API server need not have."""

import asyncio
import random
from typing import Any

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.gang.feature import POD_GROUPS, WORKLOAD_POD_GROUPS
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler import optional_resources
from moorage.watch.api_errors import ApiError, Forbidden, NotFound, Unreachable
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Page
from moorage.watch.reflector import Reflector
from tests.unit.gang.gang_world import group


class Partial(MemoryCluster):
    """A cluster that refuses lists of groups until some time."""

    refusal: ApiError = NotFound("no such resource")
    until = 100.0

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if resource in POD_GROUPS and self.clock.now() % 3600.0 < self.until:
            raise self.refusal
        return await super().list_page(resource, **options)


def follow(
    cluster_type: type[MemoryCluster], seconds: float, clock: VirtualClock | None = None
) -> tuple[list[tuple[float, str]], list[str]]:
    """What is heard in that time, and what failed."""
    clock = clock or VirtualClock(0.0)
    cluster = cluster_type(clock=clock)
    cluster.apply(group("train", 3))
    heard: list[tuple[float, str]] = []
    failures: list[str] = []

    def make(resource: Resource) -> Reflector:
        return Reflector(cluster, resource, clock=clock, rng=random.Random(1))

    async def listen() -> None:
        following = optional_resources.optional_changes(
            cluster, POD_GROUPS, make, clock, lambda _, error: failures.append(str(error))
        )
        async for _, change in following:
            heard.append((clock.now(), "absent" if change is None else change.type))

    async def main() -> None:
        task = asyncio.ensure_future(listen())
        await clock.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtual(main(), clock)
    return heard, failures


def test_a_resource_that_is_there_is_followed() -> None:
    heard, failures = follow(MemoryCluster, 10)

    assert [what for _, what in heard] == ["added", "synced"]
    assert failures == []


def test_one_that_is_not_is_told_once_and_asked_for_again_quietly() -> None:
    heard, failures = follow(Partial, 95)

    assert heard == [(10.0, "absent")]
    assert failures == []


def test_one_that_comes_later_is_followed_then() -> None:
    heard, _ = follow(Partial, 200)

    assert [what for _, what in heard] == ["absent", "added", "synced"]
    assert heard[1][0] == 100.0


def test_not_being_allowed_to_read_it_is_as_good_as_its_absence_and_said_once() -> None:
    class Secret(Partial):
        refusal = Forbidden("not for you")

    assert follow(Secret, 95) == ([(10.0, "absent")], ["not for you"])


@pytest.mark.parametrize("refusal", [NotFound("not yet"), Forbidden("roles are not loaded yet")])
def test_a_server_that_is_starting_refuses_for_a_moment_what_it_serves_then(
    refusal: ApiError,
) -> None:
    class Starting(Partial):
        until = 3.0

    Starting.refusal = refusal
    heard, failures = follow(Starting, 50)

    assert heard == [(3.0, "added"), (3.0, "synced")]
    assert failures == []


def test_a_server_that_is_away_has_not_answered() -> None:
    class Away(Partial):
        refusal = Unreachable("nobody there")
        until = 5.0

    heard, failures = follow(Away, 50)

    assert [what for _, what in heard] == ["added", "synced"]
    assert failures == ["nobody there"] * 5


def test_the_embedded_cluster_serves_one_dialect_of_groups() -> None:
    cluster = MemoryCluster(clock=VirtualClock(0.0))

    async def main() -> list[bool]:
        found = []
        for resource in (*POD_GROUPS, *WORKLOAD_POD_GROUPS):
            try:
                await cluster.list_page(resource)
                found.append(True)
            except NotFound:
                found.append(False)
        return found

    assert asyncio.run(main()) == [True, False, False]


def test_a_clock_that_is_set_makes_nobody_sure() -> None:
    class SetForward(VirtualClock):
        def now(self) -> float:
            return super().now() + (3600.0 if super().now() >= 2.0 else 0.0)

    assert "absent" not in [what for _, what in follow(Partial, 9, SetForward(0.0))[0]]
