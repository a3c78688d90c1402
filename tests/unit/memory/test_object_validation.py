"""What an API server refuses is refused, with the fields it names; what it takes is taken."""

import asyncio
import copy
import re

import pytest

from moorage.memory import manifest_loader
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import ApiError
from tests.unit.memory.judged_objects import JUDGED
from tests.unit.memory.object_recipes import Judged, container, pod, workload


def verdict(judged: Judged, *, validate: bool = True) -> str:
    cluster = MemoryCluster(options=ClusterOptions(validate=validate))
    resource = manifest_loader.resource_of(judged.raw)
    try:
        asyncio.run(cluster.create(resource, copy.deepcopy(judged.raw)))
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize("judged", JUDGED, ids=lambda judged: judged.id)
def test_verdict(judged: Judged) -> None:
    message = verdict(judged)

    assert bool(message) == bool(judged.fields), message
    assert [field for field in judged.fields if field not in message] == []


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (pod(conatiners=[]), 'unknown field "spec.conatiners"'),
        (container(resuorces={}), 'unknown field "spec.containers[0].resuorces"'),
        (workload("Deployment", replica=3), 'unknown field "spec.replica"'),
    ],
)
def test_a_misspelt_field_is_a_warning(raw: dict[str, object], want: str) -> None:
    cluster = MemoryCluster(options=ClusterOptions(validate=True))

    cluster.apply(raw)

    assert cluster.warnings == [want]


def test_without_validation_it_is_taken() -> None:
    odd = next(judged for judged in JUDGED if judged.id == "no skew")

    assert verdict(odd, validate=False) == ""


def test_what_came_from_a_server_is_not_judged_again() -> None:
    odd = copy.deepcopy(next(judged for judged in JUDGED if judged.id == "no skew").raw)
    odd["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    cluster = MemoryCluster(options=ClusterOptions(validate=True))

    assert cluster.apply(odd).name == "judged"


def test_all_that_is_wrong_is_said_at_once() -> None:
    both = pod(containers=[{"name": "c"}], restartPolicy="Sometimes")

    message = verdict(Judged("", both))

    assert re.search(r"\[spec\.containers\[0\]\.image: .*, spec\.restartPolicy: ", message)
