"""What pip installs: from source, without a compiler, with and without a home to link to."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.test_image import build_tools, copied_into
from tests.deploy.tools import ROOT
from tools.unpublished import PLACES, unpublished

HOME = "https://example.com/moorage/moorage"
SDIST = "from setuptools import build_meta; print(build_meta.build_sdist('.'))"
METADATA = (
    "from setuptools import build_meta; print(build_meta.prepare_metadata_for_build_wheel('.'))"
)
LINK = re.compile(r"\]\((?!https?:|#)")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    build_tools(folder)
    return folder


def run(tools: Path, tree: Path, *command: str) -> str:
    """The last line of what a Python that has nothing but setuptools says; no compiler works."""
    environment = {**os.environ, "PYTHONPATH": str(tools), "CC": "/bin/false"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.long  # fetches and runs setuptools
def test_a_source_distribution_becomes_a_wheel_that_works_without_a_compiler(
    tools: Path, tmp_path: Path
) -> None:
    tree, fresh = tmp_path / "tree", tmp_path / "fresh"
    tree.mkdir()
    copied_into(tree)
    packed = run(tools, tree, "-c", SDIST)
    shutil.unpack_archive(tree / packed, fresh, filter="data")
    [unpacked] = fresh.iterdir()
    options = ["--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check"]
    run(tools, unpacked, "-m", "pip", "wheel", *options, "--wheel-dir", str(tmp_path), ".", "-v")
    [wheel] = tmp_path.glob("moorage-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(installed)

    files = {str(path.relative_to(installed)) for path in installed.rglob("*")}
    tracked = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".json", ".html", ".js", ".css", ".svg")
    }
    assert tracked <= files
    assert not any(name.endswith(".so") for name in files)

    command = [sys.executable, "-m", "moorage.cli.main"]
    demo = ROOT / "examples" / "demo"
    environment = {**os.environ, "PYTHONPATH": str(installed)}

    def said(*words: str) -> str:
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, env=environment, cwd=tmp_path
        ).stdout

    assert "kernels: not compiled; their numpy forms decide the same" in said("--version", "-v")
    assert "18 of 19 pods placed" in said(
        "simulate", str(demo / "cluster"), str(demo / "workloads"), "--seed", "7"
    )


def metadata(tools: Path, tree: Path, home: str) -> email.message.Message:
    tree.mkdir()
    copied_into(tree)
    project = tree / "pyproject.toml"
    project.write_text(project.read_text().replace('home = ""', f'home = "{home}"'))
    folder = run(tools, tree, "-c", METADATA)
    return email.message_from_string((tree / folder / "METADATA").read_text(encoding="utf-8"))


@pytest.mark.long  # fetches and runs setuptools
def test_the_description_links_to_the_home_and_to_nothing_while_there_is_none(
    tools: Path, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(LINK.findall(readme)) > 30
    assert "![" in readme

    without = metadata(tools, tmp_path / "without", "")
    text = str(without.get_payload())
    assert "# Moorage" in text
    assert "checked against kube-scheduler's own code" in text
    assert LINK.findall(text) == []
    assert "![" not in text
    assert without.get_all("Project-URL") is None

    with_home = metadata(tools, tmp_path / "with", HOME)
    text = str(with_home.get_payload())
    assert LINK.findall(text) == []
    assert f"]({HOME}/blob/HEAD/docs/parity.md)" in text
    assert f"]({HOME}/raw/HEAD/docs/report.png)" in text
    assert text.count("![") == readme.count("![")
    assert f"Repository, {HOME}" in with_home.get_all("Project-URL", [])


@pytest.mark.long  # fetches and runs setuptools
def test_the_package_says_what_it_is(tools: Path, tmp_path: Path) -> None:
    found = metadata(tools, tmp_path / "tree", "")

    assert found["Author"] == "Moorage contributors"
    assert "Programming Language :: Python :: 3.13" in found.get_all("Classifier", [])
    assert "kube-scheduler" in found["Keywords"]


def test_what_is_left_out_is_listed_until_it_is_there(tmp_path: Path) -> None:
    for name in ["pyproject.toml", *(place.file for place in PLACES if place.file)]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert len(unpublished(tmp_path)) == len(PLACES)

    project = tmp_path / "pyproject.toml"
    project.write_text(project.read_text().replace('contact = ""', 'contact = "a@example.com"'))
    assert len(unpublished(tmp_path)) == len(PLACES), "nobody has written it there"
    page = tmp_path / ".github" / "SECURITY.md"
    page.write_text(page.read_text() + "Or write to a@example.com.\n")
    assert [line for line in unpublished(tmp_path) if line.startswith("contact")] == []

    project.write_text(project.read_text().replace('home = ""', f'home = "{HOME}"'))
    assert [line for line in unpublished(tmp_path) if ": the wheel: " in line] == []
