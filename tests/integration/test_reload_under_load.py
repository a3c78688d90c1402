"""50 reloads, good and bad in turn, while 2,000 pods are scheduled on a real API server.

Each good configuration holds pods to one zone by a built-in plugin's arguments, and to one rack by
those of a plugin from a file; zone and rack are of the same colour. So a pod that was decided by
half of one configuration and half of another would be on a node of two colours, and one decided by
another generation than its decision says would be on a node of the wrong colour.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.reloading import (
    configuration,
    events,
    moorage_run,
    placed,
    put,
    remove,
)

pytestmark = pytest.mark.kube

RELOADS, PODS = 50, 2_000
BATCH = PODS // RELOADS
COLOURS = ("red", "blue")
PLUGIN = '''
from moorage import Cycle, Filter, Node, Pod, Rejection, unresolvable


class Rack(Filter, frozen=True):
    """Holds pods to the racks of one colour."""

    colour: str = ""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if node.labels.get("rack") == self.colour:
            return None
        return unresolvable(f"the rack is not {self.colour}")
'''


def good(colour: str) -> dict[str, Any]:
    term = {"key": "zone", "operator": "In", "values": [colour]}
    wanted = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": wanted}
    return configuration("Rack", Rack={"colour": colour}, NodeAffinity={"addedAffinity": affinity})


def bad(index: int) -> str:
    """One of several things that may be wrong, each beside a change that is right."""
    right = good(COLOURS[index % 2])
    match index % 5:
        case 0:
            return yaml.safe_dump(right)[:-40] + "\n  - ]["
        case 1:
            return yaml.safe_dump({**right, "surprise": True})
        case 2:
            return yaml.safe_dump(configuration("Rack", "NoSuchPlugin", Rack={"colour": "red"}))
        case 3:
            return yaml.safe_dump(configuration("Rack", Rack={"colour": 7}))
        case _:
            return yaml.safe_dump({**right, "podMaxBackoffSeconds": -1})


def test_no_pod_is_lost_and_none_is_decided_by_half_a_configuration(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plugin = tmp_path / "rack.py"
    plugin.write_text(PLUGIN)
    plane.create(
        *(
            node(f"{zone}-{rack}", cpu="4k", memory="4Ti", pods=PODS, labels=labels)
            for zone in COLOURS
            for rack in COLOURS
            for labels in [{"zone": zone, "rack": rack}]
        )
    )
    put(plane, "moorage", scheduler=good("red"))
    options = (f"--plugin={plugin}", "--config-map=kube-system/moorage")
    try:
        with moorage_run(plane, tmp_path, *options) as run, ThreadPoolExecutor(1) as creator:
            colours = {1: "red"}
            for index in range(RELOADS):
                batch = [pod(f"p{index}-{i}", cpu="10m", memory="1Mi") for i in range(BATCH)]
                creating = creator.submit(plane.create, *batch)
                is_good, colour = index % 2 == 0, COLOURS[(index // 2 + 1) % 2]
                put(plane, "moorage", scheduler=good(colour) if is_good else bad(index))
                verdict = run.verdict(index)
                if is_good:
                    colours[len(colours) + 1] = colour
                want = "Configuration reloaded" if is_good else "Configuration refused"
                assert (verdict["msg"], verdict["generation"]) == (want, len(colours))
                creating.result()
            wait_for(lambda: len(run.lines("Bound")) >= PODS, f"not all bound: {run.log}", 120)
            where = placed(plane)
            decisions, bindings = run.lines("Scheduled"), run.lines("Bound")
            told = run.configz()
            counted = {
                result: run.metric(f'moorage_config_reloads_total{{result="{result}"}}')
                for result in ("success", "refused")
            }
            wait_for(lambda: len(events(plane, "ConfigRefused")) == RELOADS // 2, "no events")
            refusals = events(plane, "ConfigRefused")
    finally:
        remove(plane, "moorage")

    assert counted == {"success": RELOADS // 2, "refused": RELOADS // 2}
    assert told["generation"] == len(colours) == RELOADS // 2 + 1
    assert set(Counter(line["pod"] for line in bindings).values()) == {1}
    assert len(bindings) == len(where) == PODS
    for line in decisions:
        colour = colours[line["generation"]]
        assert line["node"] == f"{colour}-{colour}", line
    for line in bindings:
        assert where[line["pod"].partition("/")[2]] == line["node"]
    assert len({line["generation"] for line in bindings}) > RELOADS // 4
    assert {event["regarding"]["kind"] for event in refusals} == {"ConfigMap"}
    assert {event["regarding"]["name"] for event in refusals} == {"moorage"}
