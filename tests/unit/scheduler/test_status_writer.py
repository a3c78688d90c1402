"""The status of a pod: written in order, and never after what it says has ceased to hold."""

import asyncio
import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import msgspec
import pytest

from moorage.api.pod import Pod, PodCondition
from moorage.app.assembly import assemble
from moorage.clock import VirtualClock, run_virtual
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.kube.fence import LeaseLost
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.observers import Observers
from moorage.scheduler.report import Reporter
from moorage.scheduler.status_writer import FORGOTTEN_FROM, REWORDED_SECONDS, StatusWriter
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.testing.small_cluster import profile_of
from moorage.watch.api_errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from moorage.watch.api_resources import NODES, PODS

Raw = dict[str, Any]
SLOW_SECONDS = 0.5


class SlowStatus(MemoryCluster):
    """An API server on which writing a status takes its time, and everything else does not."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        await self.clock.sleep(SLOW_SECONDS)
        await super().patch_pod_status(namespace, name, patch, uid)


def scheduled_condition(cluster: MemoryCluster, name: str) -> Raw:
    conditions = cluster.read(PODS, "default", name)["status"].get("conditions", [])
    found: list[Raw] = [each for each in conditions if each["type"] == "PodScheduled"]
    return found[0]


def run_and_add(*late: NodeBuilder | PodBuilder, at: float) -> SlowStatus:
    """A pod waits on a cluster without room; then something comes, and it is bound."""
    clock = VirtualClock(1000.0)
    cluster = SlowStatus(clock=clock, rng=random.Random(1))
    cluster.add(NODES, node("small").offering(cpu="1").raw)
    cluster.add(PODS, pod("p").requesting(cpu="2").raw)
    profiles = {"default-scheduler": profile_of([], False, NO_LIMITS)}

    async def main() -> None:
        scheduler = assemble(cluster, profiles, clock=clock, rng=random.Random(1))
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(at)
        for obj in late:
            await cluster.create(NODES, obj.raw)
        await clock.sleep(60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)
    return cluster


def test_a_pod_that_gets_room_while_its_failure_is_written_is_not_said_to_wait() -> None:
    cluster = run_and_add(node("large").offering(cpu="8"), at=0.01)

    assert cluster.read(PODS, "default", "p")["spec"]["nodeName"] == "large"
    assert scheduled_condition(cluster, "p")["status"] == "True"


class Recorder:
    """An API server that notes what is written, when; first it fails as it is told to."""

    def __init__(self, clock: VirtualClock, *failures: ApiError) -> None:
        self._clock = clock
        self._failures = list(failures)
        self.written: list[tuple[float, Raw]] = []

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        await self._clock.sleep(1.0)
        if self._failures:
            raise self._failures.pop(0)
        self.written.append((self._clock.now(), patch["status"]))


async def writer_on(
    clock: VirtualClock, *failures: ApiError, waits: Callable[[str], bool] = bool
) -> tuple[StatusWriter, Recorder]:
    server = Recorder(clock, *failures)

    tasks = []

    def start(work: Any, name: str) -> None:
        tasks.append(asyncio.ensure_future(work))

    made: Any = server
    return StatusWriter(made, Observers(()), start, clock, waits), server


def waiting() -> Pod:
    return pod("p").build()


def condition(message: str, reason: str = "Unschedulable") -> Raw:
    said = {"type": "PodScheduled", "reason": reason, "message": message}
    return {"status": {"conditions": [said]}}


def test_what_comes_while_a_write_is_under_way_is_joined_into_one_more() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock)
        writer.write(waiting(), condition("first"))
        await clock.sleep(0.1)
        writer.write(waiting(), condition("second"))
        writer.write(waiting(), {"status": {"nominatedNodeName": "a"}})
        writer.write(waiting(), condition("third"))
        await clock.sleep(10)
        return server.written

    (first, said), (second, more) = run_virtual(main(), clock)
    assert (first, said["conditions"][0]["message"]) == (1.0, "first")
    assert (second, more["conditions"][0]["message"]) == (2.0, "third")
    assert more["nominatedNodeName"] == "a"


def test_another_message_is_written_a_little_later_and_the_last_one_alone() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock)
        writer.write(waiting(), condition("first"))
        await clock.sleep(10)
        writer.write(waiting(), condition("second"))
        await clock.sleep(1)
        writer.write(waiting(), condition("third"))
        await clock.sleep(10)
        return server.written

    later = 10 + REWORDED_SECONDS + 1.0
    assert messages(run_virtual(main(), clock)) == [(1.0, "first"), (later, "third")]


@pytest.mark.parametrize("fate", ["waits", "is bound", "is not bound after all"])
def test_what_is_written_is_told_when_it_is_written(fate: str) -> None:
    clock = VirtualClock(0.0)
    told: list[tuple[float, str]] = []

    def say(writer: StatusWriter, message: str) -> None:
        writer.write(waiting(), condition(message), lambda: told.append((clock.now(), message)))

    async def main() -> None:
        writer, _ = await writer_on(clock)
        say(writer, "first")
        await clock.sleep(10)
        say(writer, "second")
        await clock.sleep(1)
        say(writer, "third")
        if fate == "is bound":
            async with writer.binding(waiting().uid):
                pass
        elif fate == "is not bound after all":
            with pytest.raises(Unreachable):
                async with writer.binding(waiting().uid):
                    raise Unreachable("reset")
        await clock.sleep(10)

    run_virtual(main(), clock)
    assert told[0] == (0.0, "first")
    assert told[1:] == ([] if fate == "is bound" else [(10 + REWORDED_SECONDS, "third")])


def test_what_another_reason_has_replaced_is_not_told_after_it() -> None:
    clock = VirtualClock(0.0)
    told: list[str] = []

    async def main() -> None:
        writer, _ = await writer_on(clock)
        writer.write(waiting(), condition("first"), lambda: told.append("first"))
        await clock.sleep(10)
        writer.write(waiting(), condition("second"), lambda: told.append("second"))
        await clock.sleep(1)
        third = condition("third", reason="SchedulerError")
        writer.write(waiting(), third, lambda: told.append("third"))
        await clock.sleep(10)

    run_virtual(main(), clock)
    assert told == ["first", "third"]


def test_what_is_to_be_told_is_told_with_a_nomination_that_is_written_before() -> None:
    clock = VirtualClock(0.0)
    told: list[float] = []

    async def main() -> None:
        writer, _ = await writer_on(clock)
        writer.write(waiting(), condition("first"))
        await clock.sleep(10)
        writer.write(waiting(), condition("second"), lambda: told.append(clock.now()))
        await clock.sleep(1)
        writer.write(waiting(), {"status": {"nominatedNodeName": "a"}})
        await clock.sleep(10)

    run_virtual(main(), clock)
    assert told == [11.0]


def test_another_reason_and_a_nomination_are_written_at_once() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock)
        writer.write(waiting(), condition("first"))
        await clock.sleep(10)
        writer.write(waiting(), condition("second"))
        writer.write(waiting(), {"status": {"nominatedNodeName": "a"}})
        await clock.sleep(10)
        writer.write(waiting(), condition("third", reason="SchedulerError"))
        await clock.sleep(10)
        return server.written

    found = messages(run_virtual(main(), clock))
    assert found == [(1.0, "first"), (11.0, "second"), (21.0, "third")]


def test_another_message_is_not_written_of_a_pod_that_is_bound_by_then() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock)
        writer.write(waiting(), condition("first"))
        await clock.sleep(10)
        writer.write(waiting(), condition("second"))
        await clock.sleep(1)
        async with writer.binding(waiting().uid):
            pass
        await clock.sleep(10)
        return server.written

    assert messages(run_virtual(main(), clock)) == [(1.0, "first")]


def test_before_a_pod_is_bound_a_write_under_way_ends_and_another_is_dropped() -> None:
    clock = VirtualClock(0.0)

    async def main() -> tuple[float, list[tuple[float, Raw]]]:
        writer, server = await writer_on(clock)
        writer.write(waiting(), condition("under way"))
        await clock.sleep(0.1)
        writer.write(waiting(), condition("not begun"))
        async with writer.binding(waiting().uid):
            bound_at = clock.now()
            writer.write(waiting(), condition("while it is bound"))
            await clock.sleep(1)
        await clock.sleep(10)
        return bound_at, server.written

    bound_at, written = run_virtual(main(), clock)
    assert bound_at == 1.0
    assert [status["conditions"][0]["message"] for _, status in written] == ["under way"]


def test_a_binding_that_fails_lets_the_last_word_through() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock)
        try:
            async with writer.binding(waiting().uid):
                writer.write(waiting(), condition("refused"))
                raise ValueError
        except ValueError:
            pass
        await clock.sleep(10)
        return server.written

    assert [s["conditions"][0]["message"] for _, s in run_virtual(main(), clock)] == ["refused"]


def messages(written: list[tuple[float, Raw]]) -> list[tuple[float, str]]:
    return [(when, status["conditions"][0]["message"]) for when, status in written]


@pytest.mark.parametrize(
    ("error", "want"),
    [
        pytest.param(ServerError("etcd"), [(3.0, "why")], id="a server that failed"),
        pytest.param(Unreachable("reset"), [(3.0, "why")], id="no answer"),
        pytest.param(
            TooManyRequests("later", retry_after=5.0), [(7.0, "why")], id="later, as it asks for"
        ),
        pytest.param(
            LeaseLost("ran out"), [(3.0, "why")], id="a lease that ran out may be renewed yet"
        ),
        pytest.param(Forbidden("no"), [], id="a refusal is final"),
        pytest.param(Conflict("another pod"), [], id="another pod by now"),
        pytest.param(NotFound("gone"), [], id="the pod is gone"),
    ],
)
def test_what_could_not_be_written_is_written_later_and_what_is_refused_is_not(
    error: ApiError, want: list[tuple[float, str]]
) -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock, error)
        writer.write(waiting(), condition("why"))
        await clock.sleep(300)
        return server.written

    assert messages(run_virtual(main(), clock)) == want


def test_what_failed_is_joined_with_what_is_newer() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock, Unreachable("reset"))
        writer.write(waiting(), condition("older"))
        await clock.sleep(1.5)
        writer.write(waiting(), {"status": {"nominatedNodeName": "a"}})
        await clock.sleep(300)
        return server.written

    ((when, said),) = run_virtual(main(), clock)
    assert (when, said["conditions"][0]["message"]) == (2.5, "older")
    assert said["nominatedNodeName"] == "a"


def test_of_a_pod_that_waits_no_more_nothing_is_written_again() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(
            clock, Unreachable("reset"), waits=lambda _: clock.now() < 1.5
        )
        writer.write(waiting(), condition("why"))
        await clock.sleep(300)
        return server.written

    assert run_virtual(main(), clock) == []


def test_a_pod_is_bound_without_waiting_for_what_is_to_be_written_again() -> None:
    clock = VirtualClock(0.0)

    async def main() -> tuple[float, list[tuple[float, Raw]]]:
        writer, server = await writer_on(clock, Unreachable("reset"))
        writer.write(waiting(), condition("why"))
        await clock.sleep(1.2)
        async with writer.binding(waiting().uid):
            bound_at = clock.now()
        await clock.sleep(300)
        return bound_at, server.written

    assert run_virtual(main(), clock) == (1.2, [])


def test_after_a_while_it_is_given_up() -> None:
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock, *[Unreachable("reset")] * 8)
        writer.write(waiting(), condition("first"))
        await clock.sleep(600)
        writer.write(waiting(), condition("second"))
        await clock.sleep(60)
        return server.written

    assert messages(run_virtual(main(), clock)) == [(601.0, "second")]


def saying(message: str) -> Pod:
    """A pod whose status says why it waits."""
    said = PodCondition(
        type="PodScheduled", status="False", reason="Unschedulable", message=message
    )
    built = waiting()
    return msgspec.structs.replace(
        built, status=msgspec.structs.replace(built.status, conditions=(said,))
    )


@pytest.mark.parametrize("failures", [0, 1], ids=["not heard of yet", "not written yet"])
def test_what_a_pod_said_before_is_written_again_after_something_else(failures: int) -> None:
    """The pod that is known is older than the last word of it."""
    clock = VirtualClock(0.0)

    async def main() -> list[tuple[float, Raw]]:
        writer, server = await writer_on(clock, *[Unreachable("reset")] * failures)
        anything: Any = mock.MagicMock()
        reporter = Reporter(clock, anything, anything, anything, writer)
        reporter.not_scheduled(saying("no room"), "Unschedulable", "no room")
        reporter.not_scheduled(saying("no room"), "SchedulerError", "not bound")
        await clock.sleep(1.5)
        reporter.not_scheduled(saying("no room"), "Unschedulable", "no room")
        await clock.sleep(300)
        reporter.not_scheduled(saying("no room"), "Unschedulable", "no room")
        await clock.sleep(300)
        return server.written

    found = [message for _, message in messages(run_virtual(main(), clock))]
    assert found == (["no room"] if failures else ["not bound", "no room"])


def test_last_words_of_pods_that_wait_no_more_are_forgotten() -> None:
    clock = VirtualClock(0.0)

    async def main() -> int:
        writer, _ = await writer_on(clock, waits=lambda uid: uid.endswith("-7"))
        pods = [pod(f"p-{number}").build() for number in range(FORGOTTEN_FROM + 1)]
        for each in pods:
            writer.write(each, condition("why"))
        return sum(writer.last_word(each.uid) is not None for each in pods)

    assert run_virtual(main(), clock) == 1
