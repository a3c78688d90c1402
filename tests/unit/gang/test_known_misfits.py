"""Equal groups that wait are tried once as long as nothing changes; nothing comes out otherwise."""

from pathlib import Path

import msgspec
import pytest

from moorage.gang.place import GangPlacer
from moorage.scheduler.attempt import Cycles
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
from moorage.simulate.scenario_run import RunResult, run_scenario, run_scenario_observed
from tests.unit.simulate.scenarios import KUBE

CROWDED = """
apiVersion: moorage/v1
kind: Scenario
cluster:
  nodes:
  - {name: n, count: 4, cpu: "8", memory: 32Gi}
  - {name: s, count: 2, cpu: "8", memory: 32Gi, spot: {meanSeconds: 900, replaceSeconds: 60}}
arrivals:
  generators:
  - seconds: 600
    perHour: 480
    pods:
    - {name: batch, weight: 2, cpu: "2", memory: 1Gi, runs: {meanSeconds: 200}}
    - {name: train, cpu: "3", gang: 4, memory: 1Gi, priority: 5, runs: {meanSeconds: 300}}
    - {name: small, cpu: "2", gang: 2, memory: 1Gi, namespace: b, runs: {meanSeconds: 300}}
pods: {checkpointSeconds: 60, restartSeconds: 5, stopSeconds: 10}
"""


class _Watcher:
    """Somebody who looks at every attempt: each is made in full."""


@pytest.fixture
def crowded(tmp_path: Path) -> Scenario:
    file = tmp_path / "scenario.yaml"
    file.write_text(CROWDED)
    return read_scenario_file(str(file))


def in_full(scenario: Scenario, seed: int) -> RunResult:
    return run_scenario_observed(scenario, KUBE, seed, observers=(_Watcher(),))[0]


LONG = pytest.mark.long


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=LONG), pytest.param(3, marks=LONG)])
def test_the_same_bits_as_with_every_attempt_in_full(crowded: Scenario, seed: int) -> None:
    spared, whole = run_scenario(crowded, KUBE, seed), in_full(crowded, seed)

    assert msgspec.json.encode(spared) == msgspec.json.encode(whole)


def test_most_attempts_in_vain_are_not_made(
    crowded: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed: list[str] = []
    decided: list[str] = []
    place, init = GangPlacer.place, Cycles.__init__

    def counted_place(self, group, members):  # type: ignore[no-untyped-def]
        placed.append(group.key)
        return place(self, group, members)

    def counting(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        init(self, *args, **kwargs)
        decide = self.decide

        def counted(profile, cycle):  # type: ignore[no-untyped-def]
            decided.append(cycle.pod.name)
            return decide(profile, cycle)

        self.decide = counted

    monkeypatch.setattr(GangPlacer, "place", counted_place)
    monkeypatch.setattr(Cycles, "__init__", counting)

    run_scenario(crowded, KUBE, 1)
    spared = len(placed), len(decided)
    placed.clear()
    decided.clear()
    in_full(crowded, 1)

    assert spared[0] * 2 < len(placed)
    assert spared[1] * 2 < len(decided)
