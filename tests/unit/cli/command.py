"""The real command, as a process of its own."""

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FORKED = Path(__file__).with_name("forked.py")
ASK = (sys.executable, "-I", "-S", str(FORKED), "ask")
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""


@cache
def _forking() -> str:
    """The address of a process that forks `moorage`; it ends with this one."""
    address = f"{tempfile.mkdtemp()}/moorage"
    process = subprocess.Popen(
        [sys.executable, FORKED, "serve", address],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def end() -> None:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        process.wait()
        shutil.rmtree(Path(address).parent)

    atexit.register(end)
    assert process.stdout.readline() == b"ready\n"
    return address


def moorage(
    *arguments: str | Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run `moorage` in a forked process and wait for its end, a minute at most."""
    defaults: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(
        [*ASK, _forking(), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})},
        text=True,
        timeout=60,
        **{**defaults, **more},
    )


def pytest_in(folder: Path, *words: str | Path, **env: str) -> None:
    """Run the tests of a folder as their author would: they pass."""
    ran = moorage("pytest", "-q", "-p", "no:cacheprovider", *words, cwd=folder, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def shell(line: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `moorage` is the real command, in a forked process."""
    function = f'moorage() {{ {shlex.join([*ASK, _forking()])} "$@"; }}; '
    env = {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        ["bash", "-c", function + line],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
        text=True,
        capture_output=True,
        timeout=60,
    )
