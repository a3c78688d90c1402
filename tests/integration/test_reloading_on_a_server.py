"""`moorage run` on a real API server while files and ConfigMaps that it reads are edited."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.reloading import (
    Run,
    configuration,
    events,
    moorage_run,
    placed,
    policy,
    put,
    remove,
)

pytestmark = pytest.mark.kube

POLICIES = ("SchedulingPolicies",)
PLUGIN = """
from moorage import Cycle, Filter, Node, Pod, Rejection, unresolvable


class Only(Filter, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.name == "{}" else unresolvable("not that one")
"""


def on(plane: ControlPlane, name: str) -> str:
    """Where a pod that is created now is put."""
    plane.create(pod(name))
    return wait_for(lambda: placed(plane).get(name), f"{name} is not bound")


def preferring(resource: str) -> dict[str, Any]:
    """A policy by which what is left of one resource counts."""
    return policy("default-policy", resourceWeights={resource: 100})


def weighted() -> dict[str, Any]:
    """A configuration in which nothing scores but policies."""
    raw = configuration(*POLICIES)
    plugins = raw["profiles"][0]["plugins"]
    plugins["score"] = {"disabled": [{"name": "*"}], "enabled": [{"name": POLICIES[0]}]}
    return raw


def test_the_next_pod_is_placed_by_the_new_weights_of_an_edited_config_map(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """And an edit that is wrong is refused, with an event on the ConfigMap."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(yaml.safe_dump(weighted()))
    plane.create(
        node("much-cpu", cpu="64", memory="1Gi"), node("much-memory", cpu="2", memory="64Gi")
    )
    put(plane, "scheduling-policies", default=preferring("cpu"))
    options = (f"--config={file}", "--config-map=kube-system/scheduling-policies")
    try:
        with moorage_run(plane, tmp_path, *options) as run:
            assert on(plane, "first") == "much-cpu"
            put(plane, "scheduling-policies", default=preferring("memory"))
            assert run.verdict(0)["generation"] == 2
            assert on(plane, "second") == "much-memory"
            put(plane, "scheduling-policies", default=preferring("cpu") | {"spec": {"cpu": 1}})
            assert run.verdict(1)["msg"] == "Configuration refused"
            assert on(plane, "third") == "much-memory"
            (event,) = wait_for(lambda: events(plane, "ConfigRefused"), "no event")
            assert run.configz()["refused"]["source"] == "ConfigMap kube-system/scheduling-policies"
            remove(plane, "scheduling-policies")
            assert "there is no such ConfigMap" in run.verdict(2)["err"]
            assert on(plane, "fourth") == "much-memory"
            wait_for(lambda: len(run.lines("Scheduled")) == 4, f"not all told: {run.log}")
            generations = {line["pod"]: line["generation"] for line in run.lines("Scheduled")}
    finally:
        remove(plane, "scheduling-policies")

    assert event["regarding"]["kind"] == "ConfigMap"
    assert event["regarding"]["name"] == "scheduling-policies"
    assert event["type"] == "Warning"
    assert "spec.cpu: unknown field" in event["note"]
    assert generations == {
        "default/first": 1,
        "default/second": 2,
        "default/third": 2,
        "default/fourth": 2,
    }


def mount(folder: Path, version: str, raw: dict[str, Any]) -> Path:
    """Do as a kubelet does when a mounted ConfigMap was edited."""
    data = folder / f"..{version}"
    data.mkdir(parents=True)
    (data / "scheduler.yaml").write_text(yaml.safe_dump(raw))
    (folder / "..data_tmp").symlink_to(data.name)
    os.rename(folder / "..data_tmp", folder / "..data")
    link = folder / "scheduler.yaml"
    if not link.is_symlink():
        link.symlink_to(Path("..data") / "scheduler.yaml")
    return link


def test_a_mounted_config_map_a_plugin_file_and_a_signal(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plugin, folder = tmp_path / "only.py", tmp_path / "etc"
    plugin.write_text(PLUGIN.format("a"))
    file = mount(folder, "v1", configuration())
    plane.create(node("a"), node("b"))
    with moorage_run(plane, tmp_path, f"--config={file}", f"--plugin={plugin}") as run:
        mount(folder, "v2", configuration("Only"))
        assert run.verdict(0)["generation"] == 2
        assert on(plane, "first") == "a"
        plugin.write_text(PLUGIN.format("b"))
        assert run.verdict(1)["generation"] == 3
        assert on(plane, "second") == "b"
        run.process.send_signal(signal.SIGHUP)
        assert run.verdict(2)["msg"] == "Configuration unchanged"
        changed = {"leaderElection": {"leaderElect": False, "resourceName": "other"}}
        mount(folder, "v3", configuration("Only") | changed)
        assert "leaderElection.resourceName" in run.verdict(3)["needs_restart"]
        told = run.configz()
        assert (told["generation"], told["refused"]) == (4, None)
        assert run.metric(f'moorage_config_info{{digest="{told["digest"]}"}}') == 1.0
        run.process.send_signal(signal.SIGTERM)

        assert run.process.wait(30) == 0


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        pytest.param(("def filter(", "def filters("), "has neither filter nor", id="misspelt"),
        pytest.param(("cycle: Cycle, ", ""), "takes (self, pod, node), and is called", id="takes"),
        pytest.param(
            ("    def filter(", "    def events(self):\n        return [1]\n\n    def filter("),
            "answer a tuple of EventHint",
            id="events that are none",
        ),
        pytest.param(
            ("    def filter(", "    def concerns(self):\n        return None\n\n    def filter("),
            "answer flags of Feature",
            id="concerns that are none",
        ),
    ],
)
def test_a_plugin_file_that_is_edited_into_one_that_cannot_run_is_refused(
    edit: tuple[str, str], why: str, plane: ControlPlane, tmp_path: Path
) -> None:
    plugin, file = tmp_path / "only.py", tmp_path / "scheduler.yaml"
    plugin.write_text(PLUGIN.format("a"))
    file.write_text(yaml.safe_dump(configuration("Only")))
    plane.create(node("a"), node("b"))
    with moorage_run(plane, tmp_path, f"--config={file}", f"--plugin={plugin}") as run:
        assert on(plane, "first") == "a"
        plugin.write_text(PLUGIN.format("b").replace(*edit))
        verdict = run.verdict(0)
        placed_on = on(plane, "second")

    assert verdict["msg"] == "Configuration refused"
    assert why in verdict["err"]
    assert placed_on == "a"


def test_a_canary_that_fails_is_given_up_and_every_pod_is_bound(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plugin = tmp_path / "only.py"
    plugin.write_text(PLUGIN.format("nowhere"))
    canary = {
        "apiVersion": "moorage/v1",
        "kind": "ProfileCanary",
        "metadata": {"name": "v2"},
        "spec": {
            "schedulerName": "moorage",
            "percent": 50,
            "profile": {"plugins": {"multiPoint": {"enabled": [{"name": "Only"}]}}},
            "rollback": {"minPods": 5, "maxFailureRate": 0.5},
        },
    }
    plane.create(node("a"))
    put(plane, "moorage", scheduler=configuration(), canary=canary)
    options = ("--config-map=kube-system/moorage", f"--plugin={plugin}")
    try:
        with moorage_run(plane, tmp_path, *options) as run:
            labels = 'profile="moorage",version="v2"'
            assert run.metric(f"moorage_canary_percent{{{labels}}}") == 50.0
            plane.create(*(pod(f"p{index}") for index in range(40)))
            wait_for(lambda: len(placed(plane)) == 40, f"not all bound: {run.log}", 60)
            (line,) = run.lines("Canary rolled back")
            (shown,) = run.configz()["canaries"]
            (event,) = wait_for(lambda: events(plane, "CanaryRolledBack"), "no event")
            counter = f"moorage_canary_rollbacks_total{{{labels}}}"
            rollbacks = wait_for(lambda: run.metric(counter), "not counted")
    finally:
        remove(plane, "moorage")

    assert (line["version"], shown["state"], rollbacks) == ("v2", "RolledBack", 1.0)
    assert event["regarding"]["name"] == "moorage"
    assert "its failure rate, 100%, is above 50%" in event["note"]


@pytest.mark.parametrize(
    ("option", "want"),
    [
        pytest.param("--config-map=kube-system/none", "create it", id="no such ConfigMap"),
        pytest.param("--config-map=none", "write NAMESPACE/NAME", id="no namespace"),
    ],
)
def test_what_it_cannot_start_with_ends_it_with_2(
    plane: ControlPlane, tmp_path: Path, option: str, want: str
) -> None:
    run = Run(plane, tmp_path, option)

    assert run.process.wait(60) == 2
    assert want in run.log.read_text()
