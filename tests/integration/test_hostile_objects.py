"""A real API server stores many hostile objects that are drawn; victims are placed beside them."""

import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.api.kinds import KINDS
from moorage.watch.api_resources import RESOURCES
from tests.fuzz import victims
from tests.fuzz.hostile_objects import BEARERS, Hostile, bearer, drawn, with_value
from tests.fuzz.hostile_values import DIGITS, EXPRESSIONS
from tests.fuzz.places import place_named
from tests.integration import grouping
from tests.integration.control_plane import ControlPlane, Refused
from tests.integration.harness import replica, wait_for

pytestmark = pytest.mark.kube

Raw = dict[str, Any]
OBJECTS = 60
REFUSALS = (400, 403, 413, 422, 500, 504)
PLURALS = {resource.kind: resource for resource in RESOURCES.values()}
CLAIM = "ResourceClaim.spec.devices"
ANNOTATION = "Pod.metadata.annotations.alibabacloud.com"
TERMS = "Pod.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
STORED = {
    "a quantity of 4,400 digits": ("Pod.spec.containers.0.resources.requests.cpu", DIGITS),
    "a tiny fraction": (
        "Pod.spec.containers.0.resources.requests.cpu",
        "0." + "0" * 4_400 + "1",
    ),
    "a count of GPUs in other digits": (f"{ANNOTATION}/gpu-count", "²"),
    "a count of GPUs of 20 digits": (f"{ANNOTATION}/gpu-count", "9" * 20),
    "all GPUs of its node": (f"{ANNOTATION}/gpu-index", "0-1-2-3-4-5-6-7"),
    "another's tenant": ("Pod.metadata.labels.tenant", "victims"),
    "a scheduler's name with escapes": ("Pod.spec.schedulerName", "a\x1b]0;owned\x07\nb"),
    "a node that it names itself": ("Pod.spec.nodeName", "victim-0"),
    "1,000 labels": ("Pod.metadata.labels", {f"k{number}": "v" for number in range(1_000)}),
    "parameters that are nested deeply": (
        f"{CLAIM}.config.0.opaque.parameters",
        {"a": msgspec.Raw(b"[" * 4_900 + b"]" * 4_900)},
    ),
    **{
        f"a selector that costs much, {number}": (
            f"{CLAIM}.requests.0.exactly.selectors.0.cel.expression",
            expression,
        )
        for number, expression in enumerate(EXPRESSIONS[:5])
    },
}


@pytest.fixture(scope="module")
def wide_plane(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that serves every kind that is read."""
    home = tmp_path_factory.mktemp("hostile")
    with ControlPlane(programs, home, *grouping.ALL_DIALECTS) as plane:
        grouping.install(plane, *map(grouping.shipped, ("podgroups", "elasticquotas")))
        for raw in victims.cluster():
            post(plane, raw)
        yield plane


def test_whatever_is_drawn_is_stored_unless_what_is_hostile_in_it_is_refused(
    wide_plane: ControlPlane,
) -> None:
    rng = random.Random(1)
    harmless = {
        kind: problem
        for kind in BEARERS.keys() - {"DeviceTaintRule"}  # not served by default
        if (problem := refusal(wide_plane, bearer(kind, 10_000, rng), dry=True))
    }
    refused = {
        what: problem
        for what, (place, value) in STORED.items()
        if (problem := refusal(wide_plane, with_value(place_named(place), value).raws[0], dry=True))
    }

    assert harmless == {}
    assert refused == {}


def test_victims_are_placed_beside_what_an_api_server_stores(
    wide_plane: ControlPlane, tmp_path: Path
) -> None:
    rng, stored, refused = random.Random(1), 0, Counter[str]()
    objects = [
        with_value(place_named(place), value, 20_000 + number)
        for number, (place, value) in enumerate(STORED.values())
    ]
    objects += [drawn(rng, number) for number in range(OBJECTS)]
    for each in objects:
        problem = put(wide_plane, each)
        stored += not problem
        if problem:
            refused[f"{each.raws[0]['kind']} {problem[:3]}"] += 1
    print(f"{stored} of {len(objects)} objects are stored; refused: {dict(refused)}")
    with replica(tmp_path, "one", wide_plane.kubeconfig, **settings()) as one:
        theirs = victims.victims(0)
        for raw in theirs:
            post(wide_plane, raw)
        wait_for(
            lambda: all(map(lambda raw: node_of(wide_plane, raw), pods_of(theirs))),
            f"see {one.log}",
        )

    assert stored > OBJECTS // 4


def settings() -> Raw:
    return {key: victims.CONFIG[key] for key in ("profiles", "podMaxBackoffSeconds")}


def pods_of(raws: list[Raw]) -> list[Raw]:
    return [raw for raw in raws if raw["kind"] == "Pod"]


def node_of(plane: ControlPlane, raw: Raw) -> str:
    found = plane.request("GET", f"{path(raw)}/{raw['metadata']['name']}")
    return str(found["spec"].get("nodeName", ""))


def put(plane: ControlPlane, hostile: Hostile) -> str:
    """Store an object and its users; empty, or why the object itself is refused."""
    problem = refusal(plane, hostile.raws[0])
    if not problem:
        for raw in hostile.raws[1:]:
            refusal(plane, raw)
    return problem


def refusal(plane: ControlPlane, raw: Raw, dry: bool = False) -> str:
    """Why an object is refused; empty if it is stored."""
    try:
        post(plane, raw, dry)
    except Refused as error:
        if error.status not in REFUSALS:
            raise
        return str(error)
    return ""


def post(plane: ControlPlane, raw: Raw, dry: bool = False) -> None:
    """Create an object; the answer is not read, for it may be nested more deeply than we read."""
    headers = {"Authorization": f"Bearer {plane.token}", "Content-Type": "application/json"}
    with contextlib.closing(plane.connect()) as connection:
        where = path(raw) + ("?dryRun=All" if dry else "")
        connection.request("POST", where, msgspec.json.encode(raw), headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            raise Refused(answer.status, answer.read().decode(errors="replace"))


def path(raw: Raw) -> str:
    found, namespace = KINDS[raw["kind"]], raw["metadata"].get("namespace", "")
    return PLURALS[found.name].path(namespace)
