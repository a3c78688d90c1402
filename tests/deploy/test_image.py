"""What the Dockerfile would install: the wheel, built from the files that it copies."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.tools import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
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


def wheel_command(out: Path) -> list[str]:
    """How the builder builds the wheel."""
    [step] = [step for step in steps() if step.startswith("RUN pip wheel ")]
    words = shlex.split(step.removeprefix("RUN pip "))
    words[words.index("--wheel-dir") + 1] = str(out)
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("no C compiler: install gcc")
    home = tmp_path_factory.mktemp("image")
    (home / "src-tree").mkdir()
    copied_into(home / "src-tree")
    built = subprocess.run(
        wheel_command(home / "wheels"),
        cwd=home / "src-tree",
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    if built.returncode and re.search("No matching distribution|connection", built.stderr, re.I):
        pytest.skip("setuptools cannot be fetched: a package index is needed to build a wheel")
    assert built.returncode == 0, built.stderr
    [file] = (home / "wheels").glob("moorage-*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_of_the_image_holds_the_compiled_kernels(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path)
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )

    assert any(re.search(r"/_kernels\.[^/]*so$", name) for name in wheel.namelist())
    assert loaded.returncode == 0, loaded.stderr


def test_the_image_is_not_built_without_them() -> None:
    """The extension is optional elsewhere; the builder tries it, and ends where it is missing."""
    [install] = [step for step in steps() if "install --no-cache-dir" in step]

    assert f"import {KERNELS}" in install
    assert any("apt-get" in step and "gcc" in step for step in steps())


def test_what_the_builder_installs_is_the_wheel_it_built() -> None:
    [install] = [step for step in steps() if "install --no-cache-dir" in step]

    assert "/wheels/*.whl" in install
