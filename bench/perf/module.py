"""Where the sources of the Kubernetes release are that `make kube` builds from."""

import json
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PERF: Final = "test/integration/scheduler_perf"


def version() -> str:
    """The release that tests/kube/go.mod requires."""
    lines = (ROOT / "tests/kube/go.mod").read_text().splitlines()
    found = (line.split()[1] for line in lines if line.strip().startswith("k8s.io/kubernetes v"))
    return next(found)


def sources() -> Path:
    """Its folder in the module cache, fetched where it is not there."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version()}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return Path(json.loads(said.stdout)["Dir"])


def scheduler_perf() -> Path:
    """The folder of scheduler_perf in it."""
    return sources() / PERF
