"""Pods of one spec share what the spec means, whatever their labels are."""

from typing import Any

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.interner import Interner
from moorage.cache.podinfo import BASE_RESOURCES, Feature, PodClasses
from moorage.testing import node


def pod(name: str, labels: dict[str, str], **spec: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}
    raw = {
        "metadata": {"name": name, "namespace": "n", "uid": name, "labels": labels},
        "spec": {"containers": [container], **spec},
    }
    return decode_as(raw, Pod)


def test_a_pod_that_gets_its_nodes_labels_when_it_is_bound_is_read_once() -> None:
    cache = Cache()
    waiting = cache.info(pod("a", {"app": "web"})).cls
    bound = cache.info(pod("a", {"app": "web", "zone": "z1"}, nodeName="n1")).cls

    assert bound is not waiting
    assert bound.labels == {"app": "web", "zone": "z1"}
    assert bound.requests is waiting.requests
    assert bound.scored_requests is waiting.scored_requests
    assert bound.memo is not waiting.memo


def test_what_every_class_says_of_its_spec_is_the_same_read_or_copied() -> None:
    asked = {"hostNetwork": True, "nodeSelector": {"disk": "ssd"}}
    read = Cache().info(pod("a", {"app": "web"}, **asked)).cls
    cache = Cache()
    cache.info(pod("b", {"app": "other"}, **asked))
    copied = cache.info(pod("a", {"app": "web"}, **asked)).cls

    for name in set(type(read).__slots__) - {"id", "memo", "sample"}:
        assert getattr(copied, name) == getattr(read, name), name


def with_token(name: str, *mounts: dict[str, Any], **volume: Any) -> Pod:
    """A pod as API servers make it: its token is in a volume with a name of its own."""
    token = {"name": f"kube-api-access-{name}", "projected": {"sources": []}}
    mounted = {"name": token["name"], "mountPath": "/var/run/secrets"}
    container = {"name": "c", "volumeMounts": [mounted, *mounts]}
    volumes = [token, {"name": "data", **volume}] if volume else [token]
    return pod(name, {}, containers=[container], volumes=volumes)


def test_the_volume_with_a_pods_token_is_nothing_to_tell_it_apart_by() -> None:
    cache = Cache()
    first, second = (cache.info(with_token(name)).cls for name in ("a", "b"))

    assert first is second
    assert not first.features & (Feature.VOLUMES | Feature.KUBELET)


def test_volumes_and_mounts_that_a_scheduler_reads_tell_pods_apart() -> None:
    cache = Cache()
    plain = cache.info(with_token("a")).cls
    claim = {"persistentVolumeClaim": {"claimName": "data"}}
    claiming = cache.info(with_token("b", **claim)).cls
    asking = cache.info(with_token("c", {"name": "data", "bindMountOptions": ["noexec"]})).cls

    assert len({plain, claiming, asking}) == 3
    assert claiming.features & Feature.VOLUMES
    assert asking.features & Feature.KUBELET


def test_another_spec_is_read_anew() -> None:
    cache = Cache()
    plain = cache.info(pod("a", {})).cls
    selective = cache.info(pod("b", {}, nodeSelector={"disk": "ssd"})).cls

    assert plain.features != selective.features


def test_a_confirmed_pod_is_counted_once_and_read_as_it_is_now() -> None:
    cache = Cache()
    cache.put_node(node("n1").offering(cpu="4", memory="8Gi").build())
    cache.assume(cache.info(pod("a", {"app": "web"})), "n1")
    cache.put_pod(pod("a", {"app": "web", "zone": "z1"}, nodeName="n1"))
    believed = cache.pod("a")

    assert believed is not None
    assert believed.pod.labels["zone"] == "z1"
    assert cache.assumed == set()
    assert cache.table.requested.item(0, 0) == 250
    assert cache.table.pod_count.item(0) == 1
    assert [change.sign for change in cache.table.pod_log.entries] == [1, -1, 1]
    cache.remove_pod("a")
    assert cache.table.requested.item(0, 0) == 0


def test_classes_of_pods_that_are_gone_are_swept_and_those_in_use_stay() -> None:
    classes = PodClasses(Interner(BASE_RESOURCES), sweep_after=16)
    held = classes.info(pod("held", {"app": "held"}, nodeSelector={"disk": "ssd"}))
    for number in range(500):
        classes.info(pod("p", {"app": f"a{number}"}, nodeSelector={"own": f"v{number}"}))

    assert len(classes) <= 18
    assert classes.info(pod("again", {"app": "held"}, nodeSelector={"disk": "ssd"})).cls is held.cls
    other = classes.info(pod("like", {"app": "like"}, nodeSelector={"disk": "ssd"})).cls
    assert other.requests is held.cls.requests


def test_many_classes_in_use_are_not_swept_again_and_again() -> None:
    classes = PodClasses(Interner(BASE_RESOURCES), sweep_after=16)
    held = [classes.info(pod("p", {"app": f"a{number}"})) for number in range(100)]

    assert len(classes) == 100
    assert classes._sweep_at >= 128
    assert all(classes.info(each.pod).cls is each.cls for each in held)
