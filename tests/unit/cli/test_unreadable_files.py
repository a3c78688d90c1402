"""Files and folders that may not be read or written are one line, and exit code 2."""

import ctypes
import os
from pathlib import Path

import pytest

from tests.unit.cli.bad_plugins import configuration, source
from tests.unit.cli.command import CLUSTER, moorage, shell

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def without_privileges() -> None:
    """Root reads what it likes, unless it gives that up."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("simulate SECRET", id="a manifest"),
        pytest.param("simulate FOLDER", id="a folder"),
        pytest.param("simulate OUTER", id="a folder in a folder"),
        pytest.param("simulate OPEN --config SECRET", id="a configuration"),
        pytest.param("simulate OPEN --plugin SECRET.py", id="a plugin"),
        pytest.param("simulate OPEN --add-node 1=SECRET", id="a template"),
        pytest.param("config check SECRET", id="config check"),
        pytest.param("plugin check SECRET.py", id="plugin check"),
        pytest.param("plugin new Mine --dir FOLDER/x", id="plugin new"),
    ],
)
def test_permission_denied_is_said(tmp_path: Path, words: str) -> None:
    (tmp_path / "open.yaml").write_text(CLUSTER)
    (tmp_path / "outer" / "folder").mkdir(parents=True)
    (tmp_path / "outer" / "pod.yaml").write_text(CLUSTER)
    for name, text in {
        "secret": configuration("filter"),
        "secret.py": source("filter", "pass"),
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0)
    (tmp_path / "outer" / "folder").chmod(0)
    places = {"SECRET": "secret", "FOLDER": "outer/folder", "OUTER": "outer", "OPEN": "open.yaml"}
    for place, name in places.items():
        words = words.replace(place, str(tmp_path / name))

    told = moorage(*words.split(), preexec_fn=without_privileges)
    (tmp_path / "outer" / "folder").chmod(0o700)

    assert (told.returncode, told.stdout) == (2, "")
    assert "permission denied" in told.stderr
    assert all(line.startswith(("error: ", "warning: ")) for line in told.stderr.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        "cat $FILE | moorage simulate -",
        "cat $FILE | moorage simulate /dev/stdin",
        "moorage simulate <(cat $FILE)",
        "moorage simulate $FILE --config <(cat $CONFIG) --plugin $PLUGIN",
        "cat $CONFIG | moorage simulate $FILE --config - --plugin $PLUGIN",
        "cat $CONFIG | moorage config check - --plugin $PLUGIN",
    ],
)
def test_pipes_are_files(tmp_path: Path, line: str) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)
    (tmp_path / "conf.yaml").write_text(configuration("filter"))
    (tmp_path / "good.py").write_text(source("filter", "return None"))

    told = shell(
        line,
        FILE=tmp_path / "all.yaml",
        CONFIG=tmp_path / "conf.yaml",
        PLUGIN=tmp_path / "good.py",
    )

    assert (told.returncode, told.stderr) == (0, "")
