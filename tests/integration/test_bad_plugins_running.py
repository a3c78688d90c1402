"""`moorage run` with a plugin that hangs, raises and tampers: every other pod is bound."""

from pathlib import Path

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import replica, wait_for
from tests.integration.making import OURS, node, pod
from tests.integration.test_run_command import events, placed

pytestmark = pytest.mark.kube

PLUGIN = """
import asyncio
import time

from moorage import Filter, Nominated, PostFilter, PreBind, unschedulable


class Misbehaves(Filter, PostFilter, PreBind, frozen=True):
    def filter(self, cycle, pod, node):
        fault = pod.labels.get("fault")
        if fault == "sleeps":
            time.sleep(3600)
        if fault == "loops":
            while True:
                pass
        if fault == "raises":
            raise RuntimeError("out of coffee")
        if fault == "mutates":
            node.labels["seen"] = "true"
        if fault == "lists":
            return unschedulable(["too", "small"])
        if fault == "nominates":
            return unschedulable("too small")

    def post_filter(self, cycle, pod, diagnosis):
        if pod.labels.get("fault") == "nominates":
            return Nominated("n1", victims=("good-1",))

    async def pre_bind(self, cycle, pod, node):
        if pod.labels.get("fault") == "cancels":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
"""
FAULTS = ("sleeps", "loops", "raises", "mutates", "lists", "nominates", "cancels")
GUARD = {
    "apiVersion": "moorage/v1",
    "kind": "MoorageConfiguration",
    "pluginGuard": {"deadline": "100ms", "failureThreshold": 0},
}


def test_the_loop_goes_on_whatever_a_plugin_does(plane: ControlPlane, tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(PLUGIN)
    enabled = {"multiPoint": {"enabled": [{"name": "Misbehaves"}]}}
    profiles = [{"schedulerName": OURS, "plugins": enabled}]
    plane.create(node("n1"), *(pod(f, labels={"fault": f}) for f in FAULTS))
    with replica(
        tmp_path, "one", plane.kubeconfig, f"--plugin={rules}", beside=[GUARD], profiles=profiles
    ) as one:
        one.says("out of coffee")
        plane.create(*(pod(f"good-{i}") for i in range(30)))

        wait_for(lambda: len(placed(plane)) == 30, f"not all bound; see {one.log}")
        wait_for(lambda: len(events(plane, "FailedScheduling")) >= len(FAULTS), f"see {one.log}")
        assert all(name.startswith("good-") for name in placed(plane))
        notes = " ".join(event["note"] for event in events(plane, "FailedScheduling"))
    assert "running Filter plugin 'Misbehaves': took longer than its deadline of 100ms" in notes
    assert "running Filter plugin 'Misbehaves': RuntimeError: out of coffee" in notes
    assert (
        "running Filter plugin 'Misbehaves': MutationError: what a plugin is given may not" in notes
    )
    assert "running Filter plugin 'Misbehaves': TypeError: the reason ['too', 'small']" in notes
    assert "running PostFilter plugin 'Misbehaves': nominated a node with the victims" in notes
    assert "running PreBind plugin 'Misbehaves': CancelledError" in notes
