"""What the Dockerfile would install: the wheel, built from the files that it copies."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.tools import ROOT

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
EPOCH = "1700000000"
KERNELS = "moorage.kernels._kernels"
LOAD = f"""
import sys
sys.path.insert(0, sys.argv[1])
import {KERNELS} as kernels
assert kernels.__file__.startswith(sys.argv[1]), kernels.__file__
"""


def steps() -> list[str]:
    """Every instruction of the Dockerfile, on one line each."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


def copied_into(folder: Path) -> None:
    """Lay out what the builder copies from the source tree."""
    for step in steps():
        if step.startswith("COPY ") and "--from" not in step:
            for name in step.split()[1:-1]:
                source, target = ROOT / name, folder / name
                if source.is_dir():
                    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so"))
                else:
                    shutil.copy(source, target)


def build_tools(folder: Path) -> None:
    """What the builder builds with, as locked."""
    lock = ROOT / "requirements/build.lock"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    command = [*pip, "--require-hashes", "--target", str(folder), "-r", str(lock)]
    installed = subprocess.run(command, capture_output=True, text=True)
    if installed.returncode and re.search("No matching dist|connection", installed.stderr, re.I):
        pytest.skip("setuptools cannot be fetched: a package index is needed to build a wheel")
    assert installed.returncode == 0, installed.stderr


def wheel_command(out: Path) -> list[str]:
    """How the builder builds the wheel."""
    [step] = [step for step in steps() if step.startswith("RUN pip wheel ")]
    words = shlex.split(step.removeprefix("RUN pip "))
    words[words.index("--wheel-dir") + 1] = str(out)
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]


def build(home: Path, tools: Path) -> Path:
    """Build the wheel in a folder of its own, from a fresh copy of the files."""
    tree = home / "src-tree"
    tree.mkdir(parents=True)
    copied_into(tree)
    shutil.rmtree(tree / "requirements")
    environment = {**os.environ, "PYTHONPATH": str(tools), "SOURCE_DATE_EPOCH": EPOCH}
    built = subprocess.run(
        wheel_command(home / "wheels"), cwd=tree, capture_output=True, text=True, env=environment
    )
    assert built.returncode == 0, built.stderr
    [file] = (home / "wheels").glob("moorage-*.whl")
    return file


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel, built twice."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("no C compiler: install gcc")
    home = tmp_path_factory.mktemp("image")
    build_tools(home / "tools")
    return [build(home / name, home / "tools") for name in ("once", "and-once-more")]


@pytest.fixture
def wheel(wheels: list[Path]) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheels[0]) as opened:
        yield opened


@pytest.mark.long
def test_the_same_source_gives_the_same_wheel_byte_for_byte(wheels: list[Path]) -> None:
    once, again = (hashlib.sha256(file.read_bytes()).hexdigest() for file in wheels)

    assert once == again


@pytest.mark.long
def test_the_wheel_of_the_image_holds_the_compiled_kernels(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path)
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )

    assert any(re.search(r"/_kernels\.[^/]*so$", name) for name in wheel.namelist())
    assert loaded.returncode == 0, loaded.stderr


def step(*words: str) -> str:
    """The one instruction with all these words."""
    [found] = [step for step in steps() if all(word in step for word in words)]
    return found


def test_the_image_is_not_built_without_them() -> None:
    """The extension is optional elsewhere; the builder tries it, and ends where it is missing."""
    assert f"import {KERNELS}" in step("install", "/wheels/*.whl")


def test_what_the_builder_installs_is_the_wheel_it_built_and_nothing_else() -> None:
    assert "--no-deps" in step("install", "/wheels/*.whl")


def test_whatever_the_builder_fetches_has_its_hash_in_a_lock_file() -> None:
    fetching = [step for step in steps() if "install" in step and "/wheels/*.whl" not in step]

    assert len(fetching) == 3
    assert all("--require-hashes -r requirements/" in step for step in fetching)
    assert not any("apt-get" in step for step in steps())


def test_the_build_leaves_a_bill_of_materials_in_the_image() -> None:
    assert "cyclonedx-py environment" in step("/opt/moorage/moorage.cdx.json")


def test_what_the_dockerfile_copies_is_not_kept_from_it() -> None:
    allowed = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().split()
    copies = [step.split()[1:-1] for step in steps() if step.startswith("COPY ")]
    names = {name for names in copies for name in names if not name.startswith(("--", "/"))}

    assert {f"!{name}" for name in names} <= set(allowed)


def test_a_release_stands_on_digests() -> None:
    made = subprocess.run(
        ["make", "--no-print-directory", "release-image", "BASE=python:3.11-slim"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert made.returncode == 2
    assert "names no digest" in made.stderr


@pytest.fixture
def docker(tmp_path: Path) -> dict[str, str]:
    """An environment with a `docker` that reads what it is asked to build, and builds nothing."""
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "tests" / "docs" / "docker.py", tmp_path / "bin" / "docker")
    (tmp_path / "bin" / "docker").chmod(0o755)
    images = {"DOCKER_IMAGES": str(tmp_path / "images")}
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", **images}


DIGEST = f"@sha256:{7:064d}"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["image"], id="make image"),
        pytest.param(
            ["release-image", f"BUILDER=python:3.11{DIGEST}", f"BASE=python:3.11-slim{DIGEST}"],
            id="make release-image",
        ),
    ],
)
def test_docker_takes_the_line_that_builds_the_image(
    words: list[str], docker: dict[str, str]
) -> None:
    make = ["make", "--no-print-directory", *words, "IMAGE=registry.example/moorage:0.1.0"]
    subprocess.run(make, cwd=ROOT, env=docker, check=True)

    assert Path(docker["DOCKER_IMAGES"]).read_text() == "built registry.example/moorage:0.1.0"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("FROM python:3.11\nCOPY absent .", "absent: not found", id="nothing to copy"),
        pytest.param("FROM python:3.11\nRUNN true", "unknown instruction: RUNN", id="a typo"),
        pytest.param("RUN true\nFROM python:3.11", "no build stage", id="no base"),
        pytest.param("FROM registry.example/moorage:9", "not found", id="a base never pushed"),
    ],
)
def test_what_docker_would_not_build_is_refused_here(
    text: str, why: str, docker: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    build = ["docker", "build", "-t", "registry.example/mine:1", "."]
    built = subprocess.run(build, cwd=tmp_path, env=docker, capture_output=True, text=True)

    assert built.returncode != 0
    assert why in built.stderr


def test_the_base_images_can_be_pinned_by_digest(tmp_path: Path) -> None:
    """`make pin-base` writes what a registry says into the Dockerfile, again and again."""
    for file in (ROOT / "Makefile", ROOT / "deploy" / "Dockerfile", *ROOT.glob("*/*.mk")):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(file, copy)
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "sha256:$(printf %064d "$DIGIT")"\n')
    docker.chmod(0o755)
    for digit in ("7", "8"):
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DIGIT": digit}
        made = ["make", "--no-print-directory", "pin-base"]
        subprocess.run(made, cwd=tmp_path, check=True, env={**os.environ, **path})

    pinned = re.findall(
        r"^ARG (\w+)=(\S+)", (tmp_path / "deploy" / "Dockerfile").read_text(), re.M
    )[:2]
    digest = f"@sha256:{8:064d}"
    assert dict(pinned) == {
        "BUILDER": f"python:3.11{digest}",
        "BASE": f"python:3.11-slim{digest}",
    }


@pytest.mark.parametrize("lock", ["run", "build", "test", "audit"])
def test_a_lock_file_pins_every_package_with_a_hash_and_names_no_host(lock: str) -> None:
    text = (ROOT / f"requirements/{lock}.lock").read_text().replace("\\\n", " ")
    pins = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert pins
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", pin) for pin in pins)
    assert "://" not in text


def test_the_lock_files_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["test"]
    names = {re.split(r"[<>=~ ]", line)[0].lower() for line in wanted}
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements/test.lock").read_text(), re.M)

    assert names <= set(pinned)
