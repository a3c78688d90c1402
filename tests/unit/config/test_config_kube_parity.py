"""kube-scheduler itself is asked: what it runs and with what arguments, or why it refuses."""

import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from moorage.config import yaml_dump
from moorage.config.default_plugins import ENABLED, POINTS_OF
from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.resolved_profile import resolve
from moorage.config.types import POINTS, SchedulerConfiguration

pytestmark = pytest.mark.kube

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ROOT = Path(__file__).parents[3]
NAMES = [ref.name for ref in ENABLED]
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none"}}],
    "current-context": "none",
}
REFUSED_UNLIKE_HERE = re.compile("got args of type <nil>")
"""kube-scheduler forgets the arguments of plugins that only podGroupPostFilter enables."""

Points = dict[str, list[tuple[str, int]]]


class Answer(NamedTuple):
    """What kube-scheduler makes of a configuration."""

    refusal: str
    points: list[Points]
    args: list[dict[str, Any]]


class KubeScheduler:
    """Starts kube-scheduler only as far as it reads its configuration."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        (folder / "kubeconfig").write_text(json.dumps(KUBECONFIG))

    def ask(self, document: dict[str, Any]) -> Answer:
        given, written = self._folder / "given.json", self._folder / "written.yaml"
        written.unlink(missing_ok=True)
        connection = {"kubeconfig": str(self._folder / "kubeconfig")}
        given.write_text(json.dumps({**document, "clientConnection": connection}))
        command = [
            str(self._binary),
            f"--config={given}",
            f"--write-config-to={written}",
            "--secure-port=0",
            "-v=2",
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        refusal = re.search(r'"command failed" err=(".*")', run.stderr)
        if refusal:
            return Answer(json.loads(refusal.group(1)), [], [])
        return Answer("", _points(run.stderr), _args(yaml.safe_load(written.read_text())))


def _points(log: str) -> list[Points]:
    found = re.findall(r'"the scheduler starts to work with those plugins" Plugins=(.*)', log)
    return [
        {
            name[0].lower() + name[1:]: [(e["Name"], e["Weight"]) for e in at["Enabled"] or []]
            for name, at in json.loads(line).items()
            if name != "MultiPoint"
        }
        for line in found
    ]


def _args(written: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of each profile, without their type and without what is empty."""
    return [
        {
            config["name"]: args
            for config in profile["pluginConfig"]
            if (args := _plain(config.get("args") or {}))
        }
        for profile in written["profiles"]
    ]


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in args.items() if k not in ("apiVersion", "kind") and v != []}


@pytest.fixture
def kube_scheduler(tmp_path: Path) -> KubeScheduler:
    for folder in (os.environ.get("KUBEBUILDER_ASSETS"), ROOT / ".kube-assets" / "bin"):
        if folder and (Path(folder) / "kube-scheduler").exists():
            return KubeScheduler(Path(folder) / "kube-scheduler", tmp_path)
    pytest.skip("no kube-scheduler to compare with: make kube")


def ours(configuration: SchedulerConfiguration) -> tuple[list[Points], list[dict[str, Any]]]:
    resolved = [resolve(profile) for profile in configuration.profiles]
    points = [
        {at: [(name, weight) for name, weight in enabled] for at, enabled in r.points.items()}
        for r in resolved
    ]
    args = [{name: _plain(args) for name, args in r.args.items()} for r in resolved]
    return points, args


def assert_same(document: dict[str, Any], kube_scheduler: KubeScheduler) -> None:
    """Both refuse the document; or both run the same, also on what `dump` writes of it."""
    answer = kube_scheduler.ask(document)
    if REFUSED_UNLIKE_HERE.search(answer.refusal):
        return
    if answer.refusal:
        with pytest.raises(ConfigError):
            load(document, known={})
        return
    configuration = load(document, known={}).configuration
    assert ours(configuration) == (answer.points, answer.args)
    again = kube_scheduler.ask(yaml.safe_load(yaml_dump.dump_configuration(configuration)))
    assert again == answer


@pytest.mark.parametrize("seed", range(20))
def test_random_plugin_sets(seed: int, kube_scheduler: KubeScheduler) -> None:
    """Any mix of multiPoint, points, weights, disabled plugins and stars runs the same."""
    assert_same({**HEAD, "profiles": [_random_profile(random.Random(seed))]}, kube_scheduler)


def _random_profile(dice: random.Random) -> dict[str, Any]:
    plugins = {
        point: _random_set(dice, [n for n in NAMES if point in POINTS_OF[n]])
        for point in POINTS
        if dice.random() < 0.3
    }
    if dice.random() < 0.5:
        plugins["multiPoint"] = _random_set(dice, NAMES)
    return {"schedulerName": "random", "plugins": plugins}


def _random_set(dice: random.Random, names: list[str]) -> dict[str, Any]:
    enabled = dice.sample(names, dice.randint(0, min(4, len(names))))
    disabled = dice.sample(NAMES, dice.randint(0, 3))
    return {
        "enabled": [
            {"name": n} if dice.random() < 0.4 else {"name": n, "weight": dice.randint(0, 9)}
            for n in enabled
        ],
        "disabled": [{"name": n} for n in (["*"] if dice.random() < 0.15 else disabled)],
    }


def args(plugin: str, **fields: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": fields}]}]}


def strategy(**fields: Any) -> dict[str, Any]:
    return args("NodeResourcesFit", scoringStrategy=fields)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing said"),
        pytest.param({"profiles": [None]}, id="a profile that is null"),
        pytest.param(
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}, id="two profiles"
        ),
        pytest.param(strategy(type="MostAllocated"), id="a strategy without resources"),
        pytest.param(
            strategy(type="MostAllocated", resources=[{"name": "cpu"}]), id="without weight"
        ),
        pytest.param(
            args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}]), id="one"
        ),
        pytest.param(args("VolumeBinding", bindTimeoutSeconds=0, shape=[]), id="no waiting"),
        pytest.param(args("DynamicResources", filterTimeout="0s"), id="no timeout"),
        pytest.param(args("DefaultPreemption", minCandidateNodesPercentage=0), id="zero percent"),
        pytest.param(args("InterPodAffinity", hardPodAffinityWeight=None), id="null"),
        pytest.param(args("NodeAffinity"), id="no affinity added"),
    ],
)
def test_what_is_accepted_is_completed_alike(
    fields: dict[str, Any], kube_scheduler: KubeScheduler
) -> None:
    assert kube_scheduler.ask({**HEAD, **fields}).refusal == ""
    assert_same({**HEAD, **fields}, kube_scheduler)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"parallelism": 0}, id="parallelism"),
        pytest.param({"percentageOfNodesToScore": 101}, id="percentage"),
        pytest.param({"podInitialBackoffSeconds": 0}, id="first backoff"),
        pytest.param({"podMaxBackoffSeconds": 1, "podInitialBackoffSeconds": 2}, id="backoffs"),
        pytest.param({"leaderElection": {"resourceLock": "endpoints"}}, id="lock"),
        pytest.param({"leaderElection": {"retryPeriod": "-1s"}}, id="period"),
        pytest.param({"leaderElection": {"leaseDuration": "5x"}}, id="unit"),
        pytest.param({"profiles": [{"schedulerName": ""}]}, id="empty name"),
        pytest.param({"profiles": [{"schedulerName": "a"}, {}]}, id="missing name"),
        pytest.param(
            {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}]},
            id="removed plugin",
        ),
        pytest.param(
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": "ImageLocality"}] * 2}}}]},
            id="plugin twice",
        ),
        pytest.param({"profiles": [{"pluginConfig": [{"name": "NodeAffinity"}] * 2}]}, id="args"),
        pytest.param(
            {"profiles": [{"plugins": {"bind": {"disabled": [{"name": "*"}]}}}]}, id="bind"
        ),
        pytest.param({"extenders": [{"urlPrefix": "x", "prioritizeVerb": "p"}]}, id="weight"),
        pytest.param({"extenders": [{"urlPrefix": "x", "bindVerb": "b"}] * 2}, id="binders"),
        pytest.param(
            {"extenders": [{"urlPrefix": "x", "managedResources": [{"name": "_/A_"}]}]}, id="name"
        ),
        pytest.param(
            {"extenders": [{"urlPrefix": "x", "managedResources": [{"name": "cpu"}]}]}, id="native"
        ),
        pytest.param(args("DefaultPreemption", minCandidateNodesPercentage=101), id="candidates"),
        pytest.param(args("InterPodAffinity", hardPodAffinityWeight=-1), id="hard affinity"),
        pytest.param(
            args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
            id="balanced",
        ),
        pytest.param(args("PodTopologySpread", defaultingType="X"), id="defaulting"),
        pytest.param(
            args("PodTopologySpread", defaultingType="List", defaultConstraints=[{}]),
            id="constraint",
        ),
        pytest.param(args("VolumeBinding", bindTimeoutSeconds=-1), id="waiting"),
        pytest.param(args("DynamicResources", bindingTimeout="0.5s"), id="binding timeout"),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(
    fields: dict[str, Any], kube_scheduler: KubeScheduler
) -> None:
    refusal = kube_scheduler.ask({**HEAD, **fields}).refusal

    with pytest.raises(ConfigError) as error:
        load({**HEAD, **fields}, known={})

    for problem in error.value.problems:
        shared = problem.message.removesuffix(ADVICE)
        assert shared in refusal
        if refusal.startswith(("profiles", "extenders", "parallelism", "[")):
            assert f"{problem.place}: {shared}" in refusal


ADVICE = ": NodeVolumeLimits counts the volumes of every driver"
