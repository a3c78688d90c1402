"""`moorage plugin`: what `new` writes runs at once; `list` and `check` say what is there."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from moorage.scaffold.hook_samples import SAMPLES
from moorage.scaffold.plugin_project import Names
from tests.unit.cli.command import pytest_in

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "packaged-plugin"


def moorage(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def its_tests_pass(folder: Path) -> None:
    """Its tests pass, whatever the settings of pytest are in folders above."""
    pytest_in(folder, "-c", os.devnull, "--rootdir", folder, PYTHONPATH=str(folder / "src"))


def simulated(folder: Path, *more: str | Path) -> dict[str, str]:
    """Where the pods of the example went, by name."""
    given = (folder / "example.yaml", "--config", folder / "scheduler.yaml", "-o", "json")
    result = moorage("simulate", *given, *more)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["errors"] == []
    return {pod["name"]: pod["node"] for pod in told["pods"]}


def test_new_writes_a_plugin_its_test_its_config_and_a_cluster_to_try_it_on(tmp_path: Path) -> None:
    folder = tmp_path / "mine"

    result = moorage("plugin", "new", "TenantZones", "--dir", folder)

    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in folder.iterdir())
    assert written == [
        "example.yaml",
        "pytest.ini",
        "scheduler.yaml",
        "tenant_zones.py",
        "test_tenant_zones.py",
    ]
    its_tests_pass(folder)
    assert simulated(folder, "--plugin", folder / "tenant_zones.py") == {"web": "special"}
    checked = moorage("plugin", "check", folder / "tenant_zones.py")
    assert checked.stdout.startswith("TenantZones: filter (scalar), score (scalar)\n")


BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    ("path", "python", "moorage_"),
    [
        pytest.param(f"{BIN}:/usr/bin", "python", "moorage", id="in an activated environment"),
        pytest.param("/usr/bin", f"{BIN}/python", f"{BIN}/moorage", id="beside another Python"),
        pytest.param("", f"{BIN}/python", f"{BIN}/moorage", id="without any"),
    ],
)
def test_new_says_what_to_type_next_here(
    path: str, python: str, moorage_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path)

    told = moorage("plugin", "new", "Mine", "--dir", tmp_path / "my rule").output

    assert told.partition("Next:\n")[2].splitlines() == [
        f"  cd '{tmp_path}/my rule'",
        f"  {python} -m pytest",
        f"  {moorage_} simulate example.yaml --config scheduler.yaml --plugin mine.py",
    ]


def test_new_says_how_pytest_is_installed_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(folder: str) -> str:
        return moorage("plugin", "new", "Mine", "--package", "--dir", tmp_path / folder).output

    assert "install pytest" not in told("with")
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert f"  {BIN}/python -m pip install pytest\n  {BIN}/python -m pytest\n" in told("without")


@pytest.mark.parametrize("point", SAMPLES)
def test_new_can_extend_any_point(point: str, tmp_path: Path) -> None:
    result = moorage("plugin", "new", "Mine", "--point", point, "--dir", tmp_path / "mine")

    assert result.exit_code == 0, result.output
    placed = simulated(tmp_path / "mine", "--plugin", tmp_path / "mine" / "mine.py")
    assert placed["web"] in ("special", "plain")
    assert moorage("plugin", "check", tmp_path / "mine" / "mine.py").exit_code == 0


def test_new_writes_code_that_linters_and_types_agree_with(tmp_path: Path) -> None:
    """All points at once, so that every line that can be written is looked at."""
    moorage("plugin", "new", "Whole", "--point", ",".join(SAMPLES), "--dir", tmp_path / "whole")
    for command in (
        ["ruff", "check", "--isolated", "--line-length", "100", "--select", "E,F,I,UP"],
        ["ruff", "format", "--isolated", "--line-length", "100", "--check"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command, "."],
            cwd=tmp_path / "whole",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    its_tests_pass(tmp_path / "whole")


def test_new_writes_a_package(tmp_path: Path) -> None:
    folder = tmp_path / "mine"

    result = moorage("plugin", "new", "tenant-zones", "--package", "--dir", folder)

    assert result.exit_code == 0, result.output
    pyproject = (folder / "pyproject.toml").read_text()
    assert 'TenantZones = "tenant_zones:TenantZones"' in pyproject
    its_tests_pass(folder)


def test_new_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "scheduler.yaml").write_text("mine")

    result = moorage("plugin", "new", "TenantZones", "--dir", tmp_path)

    assert result.exit_code == 2
    assert "scheduler.yaml is there already; give another --dir" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["scheduler.yaml"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param(("new", "123"), "makes no name of a class", id="a number is no name"),
        pytest.param(
            ("new", "A", "--point", "fliter"),
            "--point fliter: choose of pre_enqueue",
            id="no point",
        ),
        pytest.param(("check", "lacking.py"), "lacking.py: no such file", id="no file"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(
    given: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = moorage("plugin", *given)

    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param("TenantZones", ("TenantZones", "tenant_zones", "tenant-zones"), id="a class"),
        pytest.param("tenant-zones", ("TenantZones", "tenant_zones", "tenant-zones"), id="kebab"),
        pytest.param("tenant_zones", ("TenantZones", "tenant_zones", "tenant-zones"), id="snake"),
        pytest.param("GPUFirst", ("GPUFirst", "gpu_first", "gpu-first"), id="an abbreviation"),
    ],
)
def test_a_name_may_be_given_in_any_form(given: str, want: tuple[str, str, str]) -> None:
    assert tuple(Names.of(given)) == want


BROKEN = """
from moorage import Filter, Score

class Nothing(Filter, frozen=True):
    pass

class Both(Score, frozen=True):
    def score(self, cycle, pod, node): return 0
    def score_all(self, cycle, pod, nodes, out): pass

class Unexplained(Filter, frozen=True):
    def filter_all(self, cycle, pod, nodes, out): pass

class Unlisted(Filter, frozen=True):
    def filter(self, cycle, pod, node): return None
    def score(self, cycle, pod, node): return 5
"""


def test_check_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)

    result = moorage("plugin", "check", file)

    assert result.exit_code == 2
    assert "Nothing has neither filter nor filter_all: write one" in result.output
    assert "Both has both score and score_all: write one of them" in result.output
    assert "Unexplained has filter_all and no rejection to explain its codes" in result.output
    assert "Unlisted has score, which nobody calls: list Score on the class line" in result.output


@pytest.mark.parametrize(("most", "said"), [("5", ""), ("50", "P: most: more than a node takes\n")])
def test_check_asks_the_plugin_about_its_arguments(tmp_path: Path, most: str, said: str) -> None:
    file = tmp_path / "most.py"
    file.write_text(
        "from moorage import Filter\n"
        "class P(Filter, frozen=True):\n"
        "    most: int\n"
        "    @classmethod\n"
        "    def check(cls, args):\n"
        "        return ['most: more than a node takes'] if args['most'] > 10 else []\n"
        "    def filter(self, cycle, pod, node): return None\n"
    )

    result = moorage("plugin", "check", file, "--args", f"{{most: {most}}}")

    assert result.exit_code == (2 if said else 0)
    assert result.stderr.endswith(said)


def test_check_runs_the_plugin(tmp_path: Path) -> None:
    file = tmp_path / "nan.py"
    file.write_text(
        "from moorage import Score\n"
        "class Nan(Score, frozen=True):\n"
        "    def score(self, cycle, pod, node): return float('nan')\n"
    )

    result = moorage("plugin", "check", file)

    assert result.exit_code == 2
    assert "running Score plugin 'Nan': scored node a nan" in result.output


def test_list_shows_every_plugin_and_where_it_is_from(tmp_path: Path) -> None:
    moorage("plugin", "new", "Mine", "--dir", tmp_path)

    told = moorage("plugin", "list", "--plugin", tmp_path / "mine.py").stdout

    lines = {line.split()[0]: line for line in told.splitlines()}
    assert "kube-scheduler's, built in" in lines["NodeResourcesFit"]
    assert "Moorage's policy, built in" in lines["GPUPriorityPlugin"]
    assert "GPUPriority " in lines["GPUPriorityPlugin"]
    assert lines["Mine"].split()[-1] == str(tmp_path / "mine.py")


def installed(target: Path) -> None:
    """Build the example and install it into a folder, with what this environment has."""
    source = target / "source"
    shutil.copytree(EXAMPLE, source)
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("the example cannot be built: this environment has no setuptools")
    install = [sys.executable, "-W", "ignore", "-c", "import setuptools; setuptools.setup()", "-q"]
    install += ["install", "--single-version-externally-managed", f"--root={target}"]
    if importlib.util.find_spec("wheel") or _setuptools() >= (70, 1):
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
        install += ["--no-build-isolation", "--target", str(target / "lib"), "."]
    else:
        install.append("--install-lib=lib")
    done = subprocess.run(install, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _setuptools() -> tuple[int, ...]:
    from importlib.metadata import version

    return tuple(int(part) for part in version("setuptools").split(".")[:2] if part.isdecimal())


@pytest.mark.long
def test_the_packaged_example_installs_and_is_found(tmp_path: Path) -> None:
    installed(tmp_path)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{tmp_path / 'lib'}"}

    def run(*args: str) -> str:
        command = [sys.executable, "-m", "moorage.cli.main", *args]
        done = subprocess.run(
            command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "package quiet-racks 0.1.0 (quiet_racks:QuietRacks)" in run("plugin", "list")
    told = json.loads(run("simulate", "example.yaml", "--config", "scheduler.yaml", "-o", "json"))
    assert [(pod["name"], pod["node"]) for pod in told["pods"]] == [("trading", "silent")]


def test_the_tests_of_the_packaged_example_pass() -> None:
    its_tests_pass(EXAMPLE)


def test_an_installed_plugin_that_does_not_load_is_named(tmp_path: Path) -> None:
    """Every command says which package is at fault, instead of falling over it."""
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[moorage.plugins]\nMine = nowhere:Mine\n")
    done = subprocess.run(
        [sys.executable, "-m", "moorage.cli.main", "plugin", "list"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert (
        'error: plugin "Mine" of broken (nowhere:Mine) does not load: ModuleNotFound' in done.stderr
    )
    assert "Traceback" not in done.stderr
