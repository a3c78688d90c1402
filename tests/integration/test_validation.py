"""The embedded cluster and a real API server judge the same objects alike."""

import copy
import json
import re

import pytest

from moorage.memory import manifest_loader
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import ApiError
from tests.integration.control_plane import ControlPlane, Refused
from tests.kube import api_fields
from tests.unit.memory.judged_objects import JUDGED
from tests.unit.memory.object_recipes import Judged

pytestmark = pytest.mark.kube
_FIELD = re.compile(r"(?:\[|, |: )((?:spec|metadata|status)[\w.\[\]/{}, -]*?|[a-z]\w+): [A-Z]\w+ ")


def real_verdict(plane: ControlPlane, judged: Judged) -> str:
    resource = manifest_loader.resource_of(judged.raw)
    path = resource.path(judged.raw["metadata"].get("namespace", ""))
    try:
        plane.request("POST", f"{path}?dryRun=All", judged.raw)
    except Refused as error:
        text = str(error)
        return str(json.loads(text[text.index("{") :])["message"])
    return ""


def memory_verdict(judged: Judged) -> str:
    cluster = MemoryCluster(options=ClusterOptions(validate=True))
    try:
        cluster.apply(copy.deepcopy(judged.raw))
    except ApiError as error:
        return error.message
    return ""


def fields(message: str) -> set[str]:
    return {match.rstrip(" ,") for match in _FIELD.findall(message)}


def test_both_judge_alike(plane: ControlPlane) -> None:
    """Accepted or refused alike, and for the same fields; most messages are the same text."""
    differ, same = [], 0
    for judged in JUDGED:
        real, memory = real_verdict(plane, judged), memory_verdict(judged)
        same += real == memory
        if bool(real) != bool(memory) or not fields(memory) <= fields(real):
            differ.append((judged.id, real, memory))
        assert [field for field in judged.fields if field not in real] == [], judged.id

    assert differ == []
    assert same / len(JUDGED) > 0.9


def test_the_known_fields_are_those_the_server_publishes(plane: ControlPlane) -> None:
    assert api_fields.OUT.read_text() == api_fields.as_text(api_fields.read_fields(plane))
