"""Equal groups that wait are tried once as long as nothing changes; nothing comes out otherwise."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import msgspec
import pytest

from moorage.gang.place import GangPlacer
from moorage.scheduler.attempt import Cycles
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


class Counted(NamedTuple):
    """A run, and how many gangs and pods were tried in it."""

    result: RunResult
    gangs: int
    pods: int


Runs = Callable[[int], tuple[Counted, Counted]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The runs of a seed: as they are, and with every attempt in full."""
    file = tmp_path_factory.mktemp("crowded") / "scenario.yaml"
    file.write_text(CROWDED)
    crowded = read_scenario_file(str(file))

    @cache
    def of(seed: int) -> tuple[Counted, Counted]:
        return (
            count(lambda: run_scenario(crowded, KUBE, seed)),
            count(lambda: run_scenario_observed(crowded, KUBE, seed, observers=(_Watcher(),))[0]),
        )

    return of


def count(run: Callable[[], RunResult]) -> Counted:
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

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(GangPlacer, "place", counted_place)
        patched.setattr(Cycles, "__init__", counting)
        result = run()
    return Counted(result, len(placed), len(decided))


LONG = pytest.mark.long


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=LONG), pytest.param(3, marks=LONG)])
def test_the_same_bits_as_with_every_attempt_in_full(seed: int, runs: Runs) -> None:
    spared, whole = runs(seed)

    assert msgspec.json.encode(spared.result) == msgspec.json.encode(whole.result)


def test_most_attempts_in_vain_are_not_made(runs: Runs) -> None:
    spared, whole = runs(1)

    assert spared.gangs * 2 < whole.gangs
    assert spared.pods * 2 < whole.pods
