"""`moorage --version`: what a report of a bug should say."""

import platform

import numpy as np
import pytest
from click.testing import CliRunner

from moorage import __version__, kernels
from moorage.cli.main import main


def said(*words: str) -> list[str]:
    told = CliRunner().invoke(main, list(words))
    assert told.exit_code == 0, told.output
    return told.output.splitlines()


def test_the_version_is_one_line() -> None:
    assert said("--version") == [f"moorage, version {__version__}"]


@pytest.mark.parametrize("words", [("--version", "-v"), ("-v", "--version")])
def test_with_v_it_tells_what_it_runs_on(words: tuple[str, str]) -> None:
    assert said(*words)[1:] == [
        f"Python {platform.python_version()}, numpy {np.__version__}",
        f"kernels: {kernels.described()}",
    ]


def test_kernels_that_were_not_built_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {name: print for name in kernels.NAMES}
    monkeypatch.setattr(kernels, "built", every)
    assert said("--version", "-v")[2] == "kernels: compiled"

    del every["placements"]
    assert said("--version", "-v")[2].startswith("kernels: _gpu_kernels not compiled; ")
    every.clear()
    assert said("--version", "-v")[2].startswith("kernels: not compiled; ")


def test_v_without_version_is_refused() -> None:
    told = CliRunner().invoke(main, ["-v", "config", "check", "-"])

    assert told.exit_code == 2
    assert "-v goes with --version" in told.output
