"""`moorage config check` prints the completed configuration, or everything that is wrong."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.config_cmd import config_command
from moorage.config.loader import default_configuration, load

GOOD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OLD = GOOD.replace("v1", "v1beta3")
BAD = GOOD + "parallelism: 0\nprofile: []\n"


def test_a_good_file_is_printed_completed(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD)

    result = CliRunner().invoke(config_command, ["check", str(file)])

    assert (result.exit_code, result.stderr) == (0, "")
    assert load(result.stdout).configuration.profiles[0].scheduler_name == "default-scheduler"
    assert load(result.stdout).configuration.parallelism == default_configuration().parallelism


def test_standard_input_and_warnings() -> None:
    result = CliRunner().invoke(config_command, ["check", "-"], input=OLD)

    assert result.exit_code == 0
    assert result.stdout.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n")
    assert result.stderr == (
        "warning: line 1: apiVersion: kubescheduler.config.k8s.io/v1beta3 is deprecated and "
        "converted to v1\n"
    )


def test_everything_wrong_goes_to_standard_error(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(BAD)

    result = CliRunner().invoke(config_command, ["check", str(file)])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f'error: {file}:4: profile: unknown field; did you mean "profiles"?\n'
        f"error: {file}:3: parallelism: Invalid value: 0: should be an integer value greater than "
        "zero\n"
    )


@pytest.mark.parametrize(
    ("option", "exit_code", "said"),
    [
        ([], 2, 'error: line 3: profiles[0].plugins.score.enabled[0]: plugin "Zebra" is not known'),
        (
            ["--unknown-plugins", "warn"],
            0,
            'warning: line 3: profiles[0].plugins.score.enabled[0]: plugin "Zebra" is not known',
        ),
    ],
    ids=["an unknown plugin is an error", "or a warning, if so told"],
)
def test_unknown_plugins(option: list[str], exit_code: int, said: str) -> None:
    text = GOOD + "profiles: [{plugins: {score: {enabled: [{name: Zebra}]}}}]"

    result = CliRunner().invoke(config_command, ["check", *option, "-"], input=text)

    assert result.exit_code == exit_code
    assert result.stderr.startswith(said)
    assert "Zebra" not in result.stdout


PLUGIN = """\
from moorage.framework.points import Score

class Zebra(Score, frozen=True):
    stripes: int = 7

    def score(self, cycle, pod, node):
        return self.stripes
"""


def test_a_plugin_may_be_loaded(tmp_path: Path) -> None:
    text = GOOD + "profiles: [{plugins: {multiPoint: {enabled: [{name: Zebra}]}}}]"
    file = tmp_path / "zebra.py"
    file.write_text(PLUGIN)

    result = CliRunner().invoke(config_command, ["check", "--plugin", str(file), "-"], input=text)

    assert (result.exit_code, result.stderr) == (0, "")
    profile = yaml.safe_load(result.stdout)["profiles"][0]
    assert profile["plugins"]["score"]["enabled"][-1] == {"name": "Zebra", "weight": 1}
    assert {"name": "Zebra", "args": {"stripes": 7}} in profile["pluginConfig"]


def test_a_file_that_is_not_there() -> None:
    result = CliRunner().invoke(config_command, ["check", "nowhere.yaml"])

    assert result.exit_code == 2
    assert "nowhere.yaml" in result.stderr


def test_help_teaches_with_an_example() -> None:
    result = CliRunner().invoke(config_command, ["check", "--help"])

    assert "moorage config check binpack.yaml" in result.stdout


def test_policies_and_canaries_of_other_files_are_checked_with_it(tmp_path: Path) -> None:
    file, more = tmp_path / "s.yaml", tmp_path / "more.yaml"
    file.write_text(GOOD)
    more.write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: x}\n"
        "spec: {resourceWeights: {cpu: 0}}\n---\n"
        "apiVersion: moorage/v1\nkind: ProfileCanary\nmetadata: {name: v2}\n"
        "spec: {schedulerName: default-scheduler, percent: 200}\n"
    )

    result = CliRunner().invoke(config_command, ["check", str(file), str(more)])

    assert result.exit_code == 2
    assert f"error: {more}:4: spec.resourceWeights.cpu: Invalid value: 0" in result.stderr
    assert f"error: {more}:9: spec.percent: Invalid value: 200.0" in result.stderr
