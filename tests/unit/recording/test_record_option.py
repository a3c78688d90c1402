"""`--record` of tables and scenarios, and `--anonymize` beside it."""

import json
from pathlib import Path

import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.recording.entries import PodSeen
from moorage.recording.play import Player
from moorage.recording.segments import Recording
from tests.unit.recording.mixed_cluster import node, pod

NODES = "name,cpu,memory\nn1,4,8Gi\nn2,4,8Gi\nn3,2,8Gi\n"
PODS = "name,arrival_s,duration_s,cpu,memory\n" + "".join(
    f"p{each},{each},12,900m,512Mi\n" for each in range(30)
)


def run(*arguments: str) -> str:
    ran = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_tables_are_recorded_and_nothing_comes_out_otherwise(tmp_path: Path) -> None:
    nodes, pods, folder = tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "made"
    nodes.write_text(NODES)
    pods.write_text(PODS)
    command = ["simulate", "--nodes", str(nodes), "--pods", str(pods), "-o", "json"]

    plain = json.loads(run(*command))
    recorded = json.loads(run(*command, "--record", str(folder)))

    assert recorded["kpis"] == plain["kpis"]
    played = Player(folder).play()
    assert played.divergence is None
    assert played.attempts >= 30


def test_the_recording_is_anonymous_when_the_command_has_ended(tmp_path: Path) -> None:
    manifests, folder = tmp_path / "cluster.yaml", tmp_path / "made"
    manifests.write_text(yaml.safe_dump_all([node(1), node(2), pod("web-1"), pod("web-2")]))

    run("simulate", str(manifests), "--record", str(folder), "--anonymize")

    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == ["made"]
    played = Player(folder).play()
    assert played.divergence is None
    assert played.attempts == 2
    seen = [each.pod.name for each in Recording(folder).entries() if isinstance(each, PodSeen)]
    assert seen
    assert not any("web" in name for name in seen)
    for frame in Recording(folder).frames():
        assert b"web-1" not in frame
        assert b"registry.example" not in frame


def test_where_there_is_a_recording_already_nothing_is_lost(tmp_path: Path) -> None:
    manifests, folder = tmp_path / "cluster.yaml", tmp_path / "made"
    manifests.write_text(yaml.safe_dump_all([node(1), pod("web-1")]))
    command = ["simulate", str(manifests), "--record", str(folder)]
    run(*command)

    ran = CliRunner().invoke(main, [*command, "--anonymize"])

    assert "holds a recording already" in ran.output
    assert Player(tmp_path / "made.with-names").play().attempts == 1
