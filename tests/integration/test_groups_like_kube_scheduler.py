"""Kubernetes' own groups, and groups of groups, come out as with kube-scheduler, gates on."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.integration.changing_group_cases import CHANGES
from tests.integration.composite_cases import COMPOSITES
from tests.integration.control_plane import ControlPlane
from tests.integration.group_cases import (
    API,
    BEYOND,
    CASES,
    COMPOSITE_API,
    SCHEDULER,
    STORIES,
    Case,
    Deed,
)
from tests.integration.harness import configuration, replica, scheduled_condition, wait_for
from tests.integration.making import Raw, pod

pytestmark = pytest.mark.kube

GATES: Final = "--feature-gates=" + ",".join(
    f"{gate}=true"
    for gate in (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "PodGroupPreemptionPolicy",
        "CompositePodGroup",
    )
)
FLAGS: Final = (GATES, f"--runtime-config={API}=true,{COMPOSITE_API}=true")
EVERY: Final = {**CASES, **STORIES, **CHANGES, **COMPOSITES}
PODS: Final = "/api/v1/namespaces/default/pods"
GROUPS: Final = f"/apis/{API}/namespaces/default/podgroups"
COMPOSITE_GROUPS: Final = f"/apis/{COMPOSITE_API}/namespaces/default/compositepodgroups"
STEADY_SECONDS: Final = 1.5
SILENT_SECONDS: Final = 6.0
"""A pod of which nothing was said yet is given longer."""
PATIENCE_SECONDS: Final = 10.0
SCHEDULERS: Final = ("kube-scheduler", "moorage")
ROUNDS: Final = 3
PROFILES: Final = [{"schedulerName": SCHEDULER}]
Outcomes = dict[str, dict[str, dict[str, Any]]]
"""By scheduler, by title."""


Planes = dict[str, ControlPlane]
"""By scheduler."""


@pytest.fixture(scope="module")
def served(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """A control plane for each scheduler that serves Kubernetes' own groups, and no others."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                ControlPlane(programs, tmp_path_factory.mktemp("served"), *FLAGS)
            )
            for name in SCHEDULERS
        }


@contextlib.contextmanager
def scheduler(name: str, plane: ControlPlane, folder: Path) -> Iterator[None]:
    """One of the two as default-scheduler."""
    if name == "moorage":
        with replica(folder, "scheduler", plane.kubeconfig, profiles=PROFILES):
            yield
        return
    file = folder / "peer.yaml"
    connection = {"kubeconfig": str(plane.kubeconfig), "qps": 10_000, "burst": 10_000}
    file.write_text(yaml.safe_dump(configuration(profiles=PROFILES, clientConnection=connection)))
    plane.run("kube-scheduler", f"--config={file}", "--secure-port=0", GATES)
    try:
        yield
    finally:
        plane.end("kube-scheduler")


def _listed(plane: ControlPlane, path: str) -> list[Raw]:
    found: list[Raw] = plane.request("GET", path)["items"]
    return found


def _kind(name: str) -> str:
    """Pods of one group are alike: which of them was chosen does not matter."""
    return name.rpartition("-")[0]


def outcome(plane: ControlPlane) -> dict[str, Any]:
    """Who is placed, why others are not, and what groups say of themselves."""
    pods = _listed(plane, PODS)
    placed = sorted(_kind(p["metadata"]["name"]) for p in pods if p["spec"].get("nodeName"))
    waiting = [p for p in pods if not p["spec"].get("nodeName")]
    reasons = {_kind(p["metadata"]["name"]): scheduled_condition(p).get("reason") for p in waiting}
    conditions = {
        found["metadata"]["name"]: sorted(
            (c["type"], c["status"], c["reason"])
            for c in (found.get("status") or {}).get("conditions") or ()
        )
        for found in _listed(plane, GROUPS)
    }
    return {"placed": placed, "waiting": reasons, "groups": conditions}


def steady(plane: ControlPlane, placed: int) -> dict[str, Any]:
    """The outcome once so many pods are placed and nothing has changed for a while."""
    seen, since = outcome(plane), time.monotonic()
    deadline = since + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.2)
        now = outcome(plane)
        if now != seen:
            seen, since = now, time.monotonic()
        quiet = STEADY_SECONDS if all(seen["waiting"].values()) else SILENT_SECONDS
        if len(seen["placed"]) == placed and time.monotonic() - since > quiet:
            break
    return seen


def play(plane: ControlPlane, case: Case) -> dict[str, Any]:
    """What comes of a case; nothing of it stays."""
    try:
        plane.create(*case.first)
        if case.then:
            if case.before is None:
                count = sum(obj["kind"] == "Pod" for obj in case.first)
                wait_for(lambda: len(outcome(plane)["placed"]) == count, "not placed", 30)
            else:
                steady(plane, case.before)
            for each in case.then:
                if isinstance(each, Deed):
                    plane.request(*each)
                else:
                    plane.create(each)
        return steady(plane, case.placed)
    finally:
        _clear(plane)


def _until_it_schedules(plane: ControlPlane) -> None:
    """Return when it has said of a pod that there is no node for it."""
    plane.create(pod("probe-0", scheduler=SCHEDULER))
    where = f"{PODS}/probe-0"
    wait_for(lambda: scheduled_condition(plane.request("GET", where)), "it does not schedule")
    plane.request("DELETE", f"{where}?gracePeriodSeconds=0")


def _clear(plane: ControlPlane) -> None:
    plane.clear()
    for groups in (GROUPS, COMPOSITE_GROUPS):
        plane.request("DELETE", groups)
        for found in _listed(plane, groups):
            where = f"{groups}/{found['metadata']['name']}"
            plane.request("PATCH", where, {"metadata": {"finalizers": None}})
        wait_for(partial(_is_empty, plane, groups), "groups are not gone")


def _is_empty(plane: ControlPlane, path: str) -> bool:
    return not _listed(plane, path)


@pytest.fixture(scope="module")
def outcomes(served: Planes, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What comes of every case, with either scheduler, both at the same time.

    When pods and groups are heard of is up to chance: cases that differ are put to both again.
    """

    def played(name: str, cases: Mapping[str, Case]) -> dict[str, dict[str, Any]]:
        plane = served[name]
        with scheduler(name, plane, tmp_path_factory.mktemp(name)):
            _until_it_schedules(plane)
            return {title: play(plane, case) for title, case in cases.items()}

    cases: Mapping[str, Case] = {**EVERY, **BEYOND}
    found: Outcomes = {name: {} for name in SCHEDULERS}
    for _ in range(ROUNDS):
        with ThreadPoolExecutor() as both:
            seen = both.map(partial(played, cases=cases), SCHEDULERS)
            for name, outcomes in zip(SCHEDULERS, seen, strict=True):
                found[name] |= outcomes
        theirs, ours = (found[name] for name in SCHEDULERS)
        cases = {title: case for title, case in EVERY.items() if theirs[title] != ours[title]}
        if not cases:
            break
    return found


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("title", EVERY)
def test_groups_come_out_alike(outcomes: Outcomes, title: str) -> None:
    peer, ours = outcomes["kube-scheduler"][title], outcomes["moorage"][title]

    assert len(peer["placed"]) == EVERY[title].placed, f"kube-scheduler: {peer}"
    assert ours == peer


@pytest.mark.parametrize("title", BEYOND)
def test_unlike_pods_are_placed_where_kube_scheduler_places_none(
    outcomes: Outcomes, title: str
) -> None:
    assert outcomes["kube-scheduler"][title]["placed"] == []
    assert len(outcomes["moorage"][title]["placed"]) == BEYOND[title].placed
