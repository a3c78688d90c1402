"""VolumeBinding's scores: how full the storage would be."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.config.plugin_args import CAPACITY_SHAPE, UtilizationShapePoint
from moorage.framework.verdicts import SKIP
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_binding.scorer import broken_line
from moorage.testing import Cluster, PodBuilder, node, pod

HOST = "kubernetes.io/hostname"
Shape = tuple[UtilizationShapePoint, ...]
RISING: Shape = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))


def storage_class(name: str, provisioner: str) -> StorageClass:
    raw = {"metadata": {"name": name}, "provisioner": provisioner}
    return decode_as({**raw, "volumeBindingMode": "WaitForFirstConsumer"}, StorageClass)


def volume(name: str, size: str, host: str, class_name: str = "local") -> PersistentVolume:
    expression = {"key": HOST, "operator": "In", "values": [host]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec = {"capacity": {"storage": size}, "storageClassName": class_name, "nodeAffinity": affinity}
    raw = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}
    return decode_as(raw, PersistentVolume)


def claim(name: str, size: str, class_name: str = "local") -> PersistentVolumeClaim:
    spec = {"storageClassName": class_name, "resources": {"requests": {"storage": size}}}
    raw = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return decode_as(raw, PersistentVolumeClaim)


def pool(host: str, size: str) -> CSIStorageCapacity:
    topology = {"matchLabels": {HOST: host}}
    meta = {"name": f"pool-{host}", "namespace": "kube-system"}
    raw = {"metadata": meta, "storageClassName": "fast", "capacity": size, "nodeTopology": topology}
    return decode_as(raw, CSIStorageCapacity)


def using(*claims: str) -> PodBuilder:
    return pod("web").with_spec(
        volumes=[{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    )


def scores(wanted: PodBuilder, *objects: Any, shape: Shape = CAPACITY_SHAPE) -> dict[str, int]:
    classes = (storage_class("local", "kubernetes.io/no-provisioner"), storage_class("fast", "x"))
    driver = decode_as({"metadata": {"name": "x"}, "spec": {"storageCapacity": True}}, CSIDriver)
    nodes = (node("a"), node("b"))
    rule = VolumeBinding(shape=shape)
    cluster = Cluster(*nodes, *classes, driver, *objects, plugins=[rule], alone=True)
    return cluster.scores(wanted, "VolumeBinding")


def test_by_default_the_emptiest_is_best() -> None:
    volumes = (volume("p", "10Gi", "a"), volume("q", "20Gi", "b"))

    assert scores(using("c"), claim("c", "5Gi"), *volumes) == {"a": 50, "b": 75}


def test_a_rising_shape_prefers_the_tightest() -> None:
    volumes = (volume("p", "10Gi", "a"), volume("q", "20Gi", "b"))

    assert scores(using("c"), claim("c", "5Gi"), *volumes, shape=RISING) == {"a": 50, "b": 25}


def test_volumes_of_one_class_are_added_up() -> None:
    volumes = (volume("p", "10Gi", "a"), volume("q", "30Gi", "a"), volume("r", "8Gi", "b"))
    more = volume("s", "8Gi", "b")

    found = scores(using("c", "d"), claim("c", "4Gi"), claim("d", "4Gi"), *volumes, more)

    assert found == {"a": 80, "b": 50}


def test_the_mean_over_classes_is_rounded_half_up() -> None:
    other = [volume("q", "8Gi", host, "fast") for host in "a"]
    there = [volume("r", "8Gi", "b", "fast"), volume("s", "10Gi", "b"), volume("p", "10Gi", "a")]
    claims = (claim("c", "5Gi"), claim("d", "1Gi", "fast"))

    found = scores(using("c", "d"), *claims, *other, *there, shape=RISING)

    assert found == {"a": 31, "b": 31}


def test_without_volumes_it_is_what_the_pool_has() -> None:
    pools = (pool("a", "10Gi"), pool("b", "50Gi"))

    assert scores(using("c"), claim("c", "5Gi", "fast"), *pools) == {"a": 50, "b": 90}


def test_two_claims_share_a_pool() -> None:
    pools = (pool("a", "20Gi"), pool("b", "40Gi"))
    claims = (claim("c", "5Gi", "fast"), claim("d", "5Gi", "fast"))

    assert scores(using("c", "d"), *claims, *pools) == {"a": 50, "b": 75}


def test_claims_that_together_ask_for_too_much_count_as_full() -> None:
    claims = (claim("c", "8Gi", "fast"), claim("d", "8Gi", "fast"))

    found = scores(using("c", "d"), *claims, pool("a", "10Gi"), pool("b", "10Gi"), shape=RISING)

    assert found == {"a": 100, "b": 100}


def test_where_a_volume_is_found_pools_do_not_count() -> None:
    found = scores(
        using("c", "d"),
        claim("c", "5Gi", "fast"),
        claim("d", "5Gi", "fast"),
        volume("p", "10Gi", "a", "fast"),
        pool("a", "1000Gi"),
        pool("b", "20Gi"),
    )

    assert found == {"a": 50, "b": 50}


def test_a_pod_whose_claims_are_all_bound_is_not_scored() -> None:
    cycle = Cluster(node("a"), node("b")).cycle(pod("web"))

    assert VolumeBinding().pre_score(cycle, cycle.pod, None) is SKIP  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "percent", "want"),
    [
        pytest.param([(0, 0), (100, 10)], 33, 33, id="between two points it is a line"),
        pytest.param([(10, 9), (33, 2)], 5, 90, id="before the first point it is the first score"),
        pytest.param([(10, 9), (33, 2)], 99, 20, id="after the last point it is the last score"),
        pytest.param([(10, 9), (33, 2)], 11, 87, id="a falling line is cut towards zero"),
        pytest.param([(0, 0), (30, 1)], 20, 6, id="a rising line is cut as well"),
        pytest.param([(50, 7)], 50, 70, id="one point is a constant"),
    ],
)
def test_the_shape(shape: list[tuple[int, int]], percent: int, want: int) -> None:
    points = tuple(UtilizationShapePoint(*point) for point in shape)

    assert broken_line(points)[percent] == want
