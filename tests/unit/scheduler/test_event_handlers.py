import msgspec
import pytest

from moorage.api.pod import Pod
from moorage.bind.permits import WaitingPods
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.cache.podinfo import PodError
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.event_handlers import EventHandlers
from moorage.testing import node, pod
from moorage.watch.reflector import Change


def handlers() -> tuple[EventHandlers, Cache, SchedulingQueue]:
    cache = Cache()
    cache.put_node(node("a").build())
    queue = SchedulingQueue(lambda queued: 0, {"default-scheduler": ()}, {}, now=lambda: 0.0)
    ours = {"default-scheduler"}
    return EventHandlers(cache, queue, ours, WaitingPods(), lambda: 0.0), cache, queue


def on(built: Pod, name: str) -> Pod:
    spec = msgspec.structs.replace(built.spec, node_name=name, scheduler_name="default-scheduler")
    return msgspec.structs.replace(built, spec=spec)


def test_a_pod_that_is_bound_no_longer_waits_again() -> None:
    """As after etcd was restored to a time before it was bound."""
    applied, cache, queue = handlers()
    bound, unbound = on(pod("web").build(), "a"), on(pod("web").build(), "")

    applied.apply(Change("added", new=bound))
    applied.apply(Change("updated", old=bound, new=unbound))

    assert cache.node_of(unbound.uid) is None
    popped = queue.pop(0.0)
    assert popped is not None
    assert popped.info.pod is unbound
    validate_cache(cache)


def test_a_number_that_no_api_server_stores_is_refused_by_the_pods_name() -> None:
    applied, cache, _ = handlers()
    spec = msgspec.structs.replace(pod("web").build().spec, overhead={"cpu": 2**70})
    huge = on(msgspec.structs.replace(pod("web").build(), spec=spec), "a")

    with pytest.raises(PodError, match="Pod default/web: a number in its spec exceeds 64 bits"):
        applied.apply(Change("added", new=huge))
    validate_cache(cache)


def test_a_pod_with_the_uid_of_one_that_waits_takes_its_place() -> None:
    applied, _, queue = handlers()
    first, second = on(pod("web").build(), ""), on(pod("other").build(), "")
    metadata = msgspec.structs.replace(second.metadata, uid=first.uid)
    second = msgspec.structs.replace(second, metadata=metadata)

    applied.apply(Change("added", new=first))
    applied.apply(Change("added", new=second))

    assert [queued.latest.pod.key for queued in queue] == ["default/other"]
    queue.validate()
