"""The real command, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
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


def moorage(
    *arguments: str | Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run `moorage` and wait for its end, a minute at most."""
    defaults: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(
        [sys.executable, "-m", "moorage", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})},
        text=True,
        timeout=60,
        **{**defaults, **more},
    )


def shell(line: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `moorage` is the real command."""
    function = f'moorage() {{ "{sys.executable}" -m moorage "$@"; }}; '
    env = {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        ["bash", "-c", function + line],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
        text=True,
        capture_output=True,
        timeout=60,
    )
