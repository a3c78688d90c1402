"""The pages on plugins: nothing that can be written is missing, and what is shown works."""

import inspect
import re
import sys
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner

import moorage
import moorage.testing
from moorage.cli.main import main
from moorage.config import moorage_configuration
from moorage.config.loader import load
from moorage.framework import points
from moorage.framework.plugin import Plugin
from moorage.scaffold.hook_samples import SAMPLES
from tests.docs.pages import DOCS, ROOT, blocks
from tests.docs.reader import environment, follow, steps

FOLDER = DOCS / "plugins"
TUTORIAL = DOCS / "plugins.md"
REFERENCE = (FOLDER / "reference.md").read_text()
ROWS = ("hook", "when", "how often", "answers", "cost", "an error", "switched off")
FILES = {block.file: block.code for block in blocks(TUTORIAL, "python", "yaml") if block.file}
EXAMPLE = ROOT / "examples" / "plugin-file"


def hooks(point: type[Plugin]) -> list[str]:
    """The signatures that a point's page must show."""
    own = {n: f for n, f in vars(point).items() if inspect.isfunction(f)}
    shown = {n: f for n, f in own.items() if not n.endswith("_each") and not n.startswith("_")}
    return [
        f"{n}({', '.join(list(inspect.signature(f).parameters)[1:])})" for n, f in shown.items()
    ]


def snake(point: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", point)


@pytest.mark.parametrize("point", points.POINTS, ids=str)
def test_every_extension_point_has_a_page_with_its_contract(point: str) -> None:
    page = FOLDER / f"{snake(point)}.md"
    text = page.read_text()

    assert [row for row in ROWS if f"\n| {row} | " not in text] == []
    beside = (FOLDER / "normalize.md").read_text() if point == "score" else ""
    assert [hook for hook in hooks(points.POINTS[point]) if hook not in text + beside] == []
    assert any(blocks(page, "python")), "an example that runs"
    assert f"plugins/{snake(point)}.md" in TUTORIAL.read_text()


@pytest.mark.parametrize("page", ["normalize", "events"])
def test_what_is_no_point_of_its_own_has_a_page_too(page: str) -> None:
    text = (FOLDER / f"{page}.md").read_text()

    assert [row for row in ROWS if f"\n| {row} | " not in text] == []


def test_a_plugin_of_every_point_can_be_begun() -> None:
    assert {snake(point) for point in points.POINTS} == set(SAMPLES)


@pytest.mark.parametrize("module", [moorage, moorage.testing], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module: object) -> None:
    names = getattr(module, "__all__", ())

    assert [name for name in names if f"\n| `{name}` | " not in REFERENCE] == []


def test_the_reference_names_nothing_else() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE))

    assert named == {*moorage.__all__, *moorage.testing.__all__}


def explains_itself(thing: object) -> bool:
    """`help(moorage.Filter)` says what it is; numbers need no saying."""
    return isinstance(thing, int) or bool(inspect.getdoc(thing))


def test_every_public_name_explains_itself() -> None:
    names = moorage.__all__

    assert [name for name in names if not explains_itself(getattr(moorage, name))] == []
    assert not explains_itself(lambda: None)


def test_the_settings_of_the_guard_are_on_the_page_on_safety() -> None:
    text = (FOLDER / "safety.md").read_text()
    fields = msgspec.structs.fields(moorage_configuration.PluginGuard)
    assert [f.encode_name for f in fields if f"\n| `{f.encode_name}` | " not in text] == []
    (block,) = blocks(FOLDER / "safety.md", "yaml")
    kube = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n---\n"
    assert load(kube + block.code).moorage.plugin_guard.of(("TenantZones",)).fallback_score == 50


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_files_of_the_tutorial_are_those_of_the_example(file: str) -> None:
    assert (EXAMPLE / file).read_text() == FILES[file]


def test_the_example_has_no_other_files() -> None:
    """But for pytest.ini, which keeps the settings of a project around it out."""
    there = {path.name for path in EXAMPLE.iterdir() if path.name != "__pycache__"}

    assert there == {*FILES, "pytest.ini"}


def test_the_commands_of_the_tutorial_work(tmp_path: Path) -> None:
    """With what is installed here; tests/docs/test_followed.py installs it as the page says."""
    typed = steps(TUTORIAL, "## 1. A rule", "## 4. On a cluster")

    told = follow(typed, tmp_path, environment(tmp_path / "home", Path(sys.executable).parent))

    assert [step.file for step in typed if step.file] == [*FILES][:-1]
    assert "2 passed" in told["pytest test_tenant_zones.py"]
    assert [command.split()[:2] for command in told if command.startswith("moorage")] == [
        ["moorage", "plugin"],
        ["moorage", "plugin"],
        ["moorage", "config"],
        ["moorage", "simulate"],
    ]


def test_the_mistakes_of_the_tutorial_are_reported_as_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = FILES["scheduler.yaml"].replace("[east, west]", "east").replace("home:", "hom:")
    Path("scheduler.yaml").write_text(wrong)
    rule = ["--plugin", str(EXAMPLE / "tenant_zones.py")]
    (shown,) = (b.code for b in blocks(TUTORIAL, "") if b.code.startswith("error: "))

    told = CliRunner().invoke(main, ["config", "check", "scheduler.yaml", *rule])

    assert told.exit_code == 2
    assert sorted(told.stderr.splitlines()) == sorted(shown.splitlines())


def test_the_kustomization_of_the_tutorial_mounts_what_it_names() -> None:
    made = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text())
    (patch,) = yaml.safe_load(made["patches"][0]["patch"])
    file = patch["value"].removeprefix("--plugin=/etc/moorage/")

    assert file in made["configMapGenerator"][0]["files"]
    assert (EXAMPLE / made["resources"][0]).resolve() == ROOT / "deploy" / "base"
    base = yaml.safe_load((ROOT / "deploy/base/scheduler/deployment.yaml").read_text())
    container = base["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "config", "mountPath": "/etc/moorage", "readOnly": True} in container[
        "volumeMounts"
    ]
