"""Moments of a recording: told, explained, kept as manifests, and decided otherwise."""

import datetime
import json
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.config.field_errors import InputError
from moorage.recording import divergence
from moorage.recording.divergence import PREEMPTION, Difference
from moorage.recording.entries import Began, Clock, Refused, TrialBegun, TrialEnded, Verdict
from moorage.recording.past import AS_RECORDED, compared, explained
from moorage.recording.play import Player
from moorage.recording.replay import Made
from moorage.simulate.simulation import pods_of
from tests.unit.cli import bad_plugins
from tests.unit.recording.mixed_cluster import Recorded, node, pod, record

PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    objects = [node(each) for each in range(4)] + [pod(f"web-{each}", "600m") for each in range(8)]
    objects.append(pod("huge-0", "64"))
    return record(tmp_path_factory.mktemp("recordings") / "small", objects)


def test_an_attempt_is_told_and_the_cluster_kept(small: Recorded, tmp_path: Path) -> None:
    file = tmp_path / "moment.yaml"
    given = ["replay", str(small.folder), "--until", "#5", "--snapshot", str(file)]

    said = CliRunner().invoke(main, given)

    assert said.exit_code == 0, said.output
    assert "Attempt 5" in said.output
    assert file.stat().st_mode & 0o777 == 0o600
    kept = list(yaml.safe_load_all(file.read_text()))
    pods = [each for each in kept if each["kind"] == "Pod"]
    assert len(pods) == 9
    assert sum("nodeName" in each["spec"] for each in pods) == 3, (
        "four attempts came before, and huge-0 fits nowhere"
    )


def test_a_reason_that_several_verdicts_share_is_told_once() -> None:
    """As of a quota, whose pods may be evicted from some nodes and not from others."""
    outcome = Refused((("Quota", "quota exceeded", 1), ("Quota", "quota exceeded", 2)), "")

    assert divergence.words(outcome) == "no node fits: 3 quota exceeded"


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        pytest.param(
            (("Fit", "Insufficient cpu", 2),), "2 Insufficient cpu. preemption: none", id="both"
        ),
        pytest.param((), "preemption: none", id="no verdicts"),
    ],
)
def test_what_is_said_of_preemption_is_a_sentence_of_its_own(
    verdicts: tuple[Verdict, ...], words: str
) -> None:
    assert divergence.words(Refused(verdicts, "preemption: none")) == f"no node fits: {words}"


def test_a_refusal_that_differs_in_nothing_but_what_preemption_said_is_told(
    small: Recorded,
) -> None:
    heard: list[Made] = []
    player = Player(small.folder, heard=heard.append)
    player.play()
    configured = player.replay.configured
    assert configured is not None
    made = next(each for each in heard if isinstance(each.outcome, Refused))
    assert isinstance(made.outcome, Refused)
    here = msgspec.structs.replace(made.outcome, said="not now")

    found = divergence.divergence_of(made._replace(outcome=here), configured, configured.code)

    assert made.outcome.said
    assert found.differences == (Difference(PREEMPTION, made.outcome.said, "not now"),)


def test_a_time_within_a_trial_is_reached_when_the_trial_is_over(small: Recorded) -> None:
    """What a trial imagines is undone at its end: nobody is to look at it, or go on from it."""
    player = Player(small.folder)
    known = list(player.rest)
    began = known[0]
    assert isinstance(began, Began)
    late = began.now + 1e6
    player.rest = iter([*known, TrialBegun(), Clock(late), TrialEnded(), Clock(late + 1)])
    moment = datetime.datetime.fromtimestamp(late, datetime.UTC).isoformat()

    stop = player.play_until(moment)

    assert not stop.replay.in_trial
    assert stop.replay.now == late
    assert list(player.rest) == [Clock(late + 1)]


def test_pods_of_a_kept_cluster_are_made_anew_when_they_are_evicted(tmp_path: Path) -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 9}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": pod("web", "2500m")["spec"],
            },
        },
    }
    recorded = record(tmp_path / "recording", [node(0), node(1), replica_set])
    moment, more = tmp_path / "moment.yaml", tmp_path / "more.yaml"
    kept = ["replay", str(recorded.folder), "--until", "#3", "--snapshot", str(moment)]
    assert CliRunner().invoke(main, kept).exit_code == 0
    vip = pod("vip", "2500m", priorityClassName="urgent")
    more.write_text(yaml.dump_all([{**urgent, "metadata": {"name": "urgent"}}, vip]))

    said = CliRunner().invoke(main, ["simulate", str(moment), str(more), "-o", "json"])

    pods = json.loads(said.stdout)["pods"]
    assert sorted(bool(each["node"]) for each in pods if each["owner"]) == [False, False, True]
    assert "malformed" not in said.stderr


def test_a_pod_is_explained_as_if_there(small: Recorded) -> None:
    told = explained(small.folder, "#9", "default/huge-0")

    assert not told.node
    assert "Insufficient cpu" in str(told)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param("", id="the pod of the attempt"),
        pytest.param("web-0", id="the same pod by its name"),
    ],
)
def test_a_pod_that_the_attempt_has_placed_is_explained_there(small: Recorded, named: str) -> None:
    told = explained(small.folder, "#2", named)

    nodes = {pod.key: pod.spec.node_name for pod in pods_of(small.simulation)}
    assert (told.pod, told.state) == ("default/web-0", "placed")
    assert told.node == nodes["default/web-0"]
    assert told.scores[told.node]


def test_another_pod_than_that_of_the_attempt_waits_there(small: Recorded) -> None:
    told = explained(small.folder, "#2", "web-7")

    assert (told.pod, told.state) == ("default/web-7", "pending")


def test_another_configuration_decides_from_there_on(small: Recorded, tmp_path: Path) -> None:
    file = tmp_path / "packing.yaml"
    file.write_text(PACKING)

    found = compared(small.folder, "#1", [str(file)])

    used = {each.name: each.kpis["nodes_used"] for each in found.configurations}
    assert used == {AS_RECORDED: 4, "packing": 2}


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_plugin_that_raises_from_there_on_is_told(
    small: Recorded, tmp_path: Path, output: str
) -> None:
    (tmp_path / "bad.py").write_text(bad_plugins.source("filter", 'raise KeyError("zone")'))
    (tmp_path / "bad.yaml").write_text(bad_plugins.configuration("filter"))
    plugin = ["--config", str(tmp_path / "bad.yaml"), "--plugin", str(tmp_path / "bad.py")]
    given = ["replay", str(small.folder), "--until", "#1", *plugin, "-o", output]

    said = CliRunner().invoke(main, given)

    lines = [line for line in said.stderr.splitlines() if "Bad': KeyError: 'zone'" in line]
    assert said.exit_code == 1, said.output
    assert len(lines) == 1
    assert lines[0].startswith("error: bad: running Filter plugin")


def test_an_attempt_that_is_not_there_is_named(small: Recorded) -> None:
    with pytest.raises(InputError, match="no such attempt"):
        Player(small.folder).play_until("ffff")


def test_simulate_records_and_replay_plays(tmp_path: Path) -> None:
    manifests, folder = tmp_path / "cluster.yaml", tmp_path / "made"
    manifests.write_text(yaml.safe_dump_all([node(1), pod("web-1")]))

    made = CliRunner().invoke(main, ["simulate", str(manifests), "--record", str(folder)])
    played = CliRunner().invoke(main, ["replay", str(folder), "-o", "json"])

    assert made.exit_code == 0, made.output
    assert "keep it as you keep secrets" in made.output
    assert played.exit_code == 0, played.output
    assert '"attempts":1' in played.output
