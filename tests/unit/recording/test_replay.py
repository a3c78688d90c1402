"""A recording gives the same decisions again, in another process and without C, or names why."""

import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.recording.configuration import LoadedPlugins
from moorage.recording.entries import Attempt, Placed, Refused
from moorage.recording.play import Player
from moorage.recording.plugin_code import plugin_code
from moorage.recording.segments import Recording, segments_in
from tests.unit.recording.mixed_cluster import DEFAULT, PRIVATE, Recorded, pod, record, workload

WITHOUT_KERNELS = """
import sys
for name in ("_kernels", "_gpu_kernels", "_node_totals"):
    sys.modules[f"moorage.kernels.{name}"] = None
from moorage import kernels
assert not kernels.built
from moorage.cli.main import main
main(["replay", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recordings") / "mixed")


def test_every_decision_is_the_same(mixed: Recorded) -> None:
    played = Player(mixed.folder).play()

    assert played.divergence is None
    assert not played.torn
    assert played.attempts >= mixed.simulation.scheduler.attempts - 10


def test_there_were_placements_refusals_evictions_and_gangs(mixed: Recorded) -> None:
    attempts = [each for each in Recording(mixed.folder).entries() if isinstance(each, Attempt)]
    outcomes = [each.outcome for each in attempts]

    assert any(isinstance(each, Placed) and each.parts for each in outcomes)
    assert any(isinstance(each, Refused) and each.victims for each in outcomes)
    assert any(not each.makes_room for each in attempts), "pods of gangs make no room"
    assert len({each.tie_key for each in attempts}) > 1, "ties are drawn"
    assert mixed.simulation.evictions


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["-m", "moorage", "replay"], id="another process"),
        pytest.param(["-c", WITHOUT_KERNELS], id="another process without C kernels"),
    ],
)
def test_elsewhere(mixed: Recorded, command: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, *command, str(mixed.folder)], capture_output=True, text=True, timeout=60
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "every decision is the same" in ran.stdout


def test_it_is_for_its_owner_alone_and_holds_no_environment(mixed: Recorded) -> None:
    assert mixed.folder.stat().st_mode & 0o777 == 0o700
    for file in segments_in(mixed.folder):
        assert file.stat().st_mode & 0o777 == 0o600
    for frame in Recording(mixed.folder).frames():
        assert PRIVATE.encode() not in frame


PLUGIN = '''
from moorage import Cycle, Filter, MAX_SCORE, Node, Pod, Rejection, Score, unschedulable


class Favourites(Filter, Score, frozen=True):
    """Nodes whose names end in an even digit are liked; node-04 takes no pods named plain-7."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.name == "plain-7" and node.name >= "node-04":
            return unschedulable("node(s) were not for it")
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 50 if int(node.name[-1]) % 2 == 0 else 10
'''
WITH_PLUGIN = (
    DEFAULT
    + """
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Favourites}]
"""
)


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        pytest.param("return 50", "return 60", "plain-0", id="a score"),
        pytest.param('>= "node-04"', '<= "node-04"', "plain-7", id="a verdict"),
        pytest.param("% 2 == 0", "% 3 == 0", "plain-1", id="whom it likes"),
    ],
)
def test_a_plugin_edited_by_one_character(
    tmp_path: Path, before: str, after: str, first: str
) -> None:
    file = tmp_path / "favourites.py"
    file.write_text(PLUGIN)
    objects = [each for each in workload() if each["kind"] == "Node"]
    objects += [pod(f"plain-{each}") for each in range(10)]
    record(tmp_path / "made", objects, WITH_PLUGIN, (str(file),))
    given = LoadedPlugins((str(file),), changed=True)
    assert Player(tmp_path / "made", given).play().divergence is None
    assert PLUGIN.count(before) == 1
    file.write_text(PLUGIN.replace(before, after))

    found = Player(tmp_path / "made", given).play().divergence

    assert found is not None
    assert found.pod == f"default/{first}"
    assert found.plugins == ("Favourites",)
    assert [each.plugin for each in found.changed] == ["Favourites"]
    assert found.then != found.here


PLANTED = PLUGIN + "\nfrom pathlib import Path\nPath('ran').touch()\n"


@pytest.fixture
def handed_on(tmp_path: Path) -> Path:
    """A recording whose plugin file, which came with it, has been replaced by another."""
    folder = tmp_path / "handed-on"
    folder.mkdir()
    file = folder / "favourites.py"
    file.write_text(PLUGIN)
    record(
        folder / "made",
        [*(each for each in workload() if each["kind"] == "Node"), pod("web-1")],
        WITH_PLUGIN,
        (str(file),),
    )
    file.write_text(PLANTED)
    return folder


COMMANDS = [
    pytest.param(["replay", "made"], id="replay"),
    pytest.param(["replay", "made", "--until", "#1"], id="replay to a moment"),
    pytest.param(["explain", "--recording", "made", "--at", "#1"], id="explain"),
    pytest.param(["record", "anonymize", "made", "copy"], id="anonymize"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_that_a_recording_names_is_run(
    handed_on: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(handed_on)

    refused = CliRunner().invoke(main, command)

    recorded = hashlib.sha256(PLUGIN.encode()).hexdigest()
    assert refused.exit_code == 2
    assert f"Favourites of favourites.py (sha256 {recorded})" in refused.stderr
    assert not Path("ran").exists()


def test_a_file_that_is_given_runs_if_it_is_the_recorded_one(
    handed_on: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(handed_on)
    asked = ["replay", "made", "--plugin", "favourites.py"]

    refused = CliRunner().invoke(main, asked)
    assert not Path("ran").exists(), "it was run before it was refused"
    changed = CliRunner().invoke(main, [*asked, "--changed-plugins"])
    Path("favourites.py").write_text(PLUGIN)
    given = CliRunner().invoke(main, asked)

    here, then = (hashlib.sha256(text.encode()).hexdigest() for text in (PLANTED, PLUGIN))
    assert refused.exit_code == 2
    assert f"Favourites of favourites.py (sha256 {here}) is not that" in refused.stderr
    assert f"favourites.py (sha256 {then})" in refused.stderr
    assert (changed.exit_code, given.exit_code) == (0, 0), (changed.output, given.output)


def test_no_local_path_is_recorded(handed_on: Path) -> None:
    written = b"".join(Recording(handed_on / "made").frames())

    assert b"favourites.py" in written
    assert str(handed_on).encode() not in written


def test_a_change_beside_a_plugin_that_is_a_package_is_another_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Helpers are hashed too, below the folder as well, whichever file was changed last."""
    package = tmp_path / "acme_favourites"
    (package / "deeper").mkdir(parents=True)
    (package / "__init__.py").write_text(PLUGIN)
    helper = package / "deeper" / "helper.py"
    helper.write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = importlib.import_module("acme_favourites").Favourites

    before = plugin_code("Favourites", plugin)
    helper.write_text("A = 2\n")
    os.utime(helper, ns=(1, 1))

    assert before.digest
    assert plugin_code("Favourites", plugin).digest != before.digest
