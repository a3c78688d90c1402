"""The root welcomes: few entries, and what contributors and their tools look for works."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def hooks() -> dict[str, Any]:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local", "another would be fetched"
    return {hook["id"]: hook for hook in local["hooks"]}


def test_the_root_has_at_most_twenty_entries() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    entries = {name.split("/")[0] for name in listed if not name.startswith(".")}

    assert "README.md" in entries
    assert len(entries) <= 20


def test_the_hook_for_configurations_takes_ours_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    hook = hooks()["moorage-config-check"]
    command = shlex.split(hook["entry"])
    wrong = tmp_path / "scheduler.yaml"
    ours = ROOT / "deploy" / "base" / "scheduler" / "scheduler.yaml"
    wrong.write_text(ours.read_text() + "percentageOfNodesToScore: 101\n")

    def check(*files: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True
        )

    assert check(ours).returncode == 0
    refused = check(wrong, ours)
    assert refused.returncode == 2
    assert "percentageOfNodesToScore: Invalid value: 101" in refused.stderr


def test_every_hook_runs_what_setup_installs() -> None:
    assert {"ruff", "ruff-format", "moorage-config-check"} == hooks().keys()
    for hook in hooks().values():
        assert hook["language"] == "system"
        assert ".venv/bin/" in hook["entry"]


def test_the_workflow_calls_the_script_that_everybody_can_run() -> None:
    [workflow] = [yaml.safe_load(file.read_text()) for file in WORKFLOWS]
    [job] = workflow["jobs"].values()

    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.kube
@pytest.mark.timeout(600)
def test_the_workflow_is_one_that_github_reads(tmp_path: Path) -> None:
    """As actionlint says; it is built from the Go module proxy."""
    if shutil.which("go") is None:
        pytest.skip("no go on the PATH: actionlint cannot be built")

    def check(text: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "ci.yaml"
        file.write_text(text)
        command = ["go", "run", ACTIONLINT, str(file)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    text = WORKFLOWS[0].read_text()
    refused = check(text.replace("runs-on:", "runs-upon:"))
    assert 'unexpected key "runs-upon"' in refused.stdout, refused.stderr
    accepted = check(text)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.stem)
def test_a_template_asks_for_a_cluster_and_a_recording_without_names(template: Path) -> None:
    form = yaml.safe_load(template.read_text())
    text = template.read_text()

    assert {"name", "description", "body"} <= form.keys()
    assert any(each.get("validations", {}).get("required") for each in form["body"])
    assert "`moorage snapshot --anonymize" in text
    assert "`moorage record anonymize " in text


def test_there_are_templates() -> None:
    assert len(TEMPLATES) == 3
