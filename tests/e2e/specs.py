"""One run of the specs' binary, and what became of each spec."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.e2e.groups import Group
from tests.integration.control_plane import ControlPlane

PASSED: Final = "passed"
SKIPPED: Final = ("skipped", "pending")


class Spec(NamedTuple):
    """One spec: its name, what became of it, how long it took, and why it failed."""

    name: str
    state: str
    seconds: float
    message: str

    @property
    def passed(self) -> bool:
        return self.state == PASSED


def run(plane: ControlPlane, binary: Path, group: Group, timeout: str = "60m") -> list[Spec]:
    """Run a group of specs one after the other; those that do not apply here are left out."""
    report = plane.home / "report.json"
    command = [
        str(binary),
        f"--kubeconfig={plane.kubeconfig}",
        "--provider=skeleton",
        "--delete-namespace-on-failure=true",
        f"--ginkgo.focus={group.focus}",
        *([f"--ginkgo.skip={group.skip}"] if group.skip else []),
        f"--ginkgo.json-report={report}",
        f"--ginkgo.timeout={timeout}",
        "--ginkgo.seed=1",
        "--ginkgo.no-color",
    ]
    report.unlink(missing_ok=True)
    with open(plane.home / "e2e.log", "wb") as log:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, cwd=plane.home
        )
    if not report.exists():
        raise RuntimeError(f"the specs did not run ({ended.returncode}); see {log.name}")
    return read(json.loads(report.read_text()))


def names(binary: Path, home: Path) -> list[str]:
    """The names of all specs of a binary; none is run."""
    report = home / "names.json"
    command = [str(binary), "--provider=skeleton", "--ginkgo.dry-run"]
    subprocess.run([*command, f"--ginkgo.json-report={report}"], check=False, capture_output=True)
    found = (s for suite in json.loads(report.read_text()) for s in suite["SpecReports"] or ())
    return sorted(_spec(raw).name for raw in found if raw["LeafNodeType"] == "It")


def read(report: list[dict[str, Any]]) -> list[Spec]:
    """The specs of a report of ginkgo, sorted by name; without its preparations none has run."""
    found = [spec for suite in report for spec in suite["SpecReports"] or ()]
    for raw in found:
        if raw["LeafNodeType"].endswith("BeforeSuite") and raw["State"] != PASSED:
            raise RuntimeError(f"no spec ran: {_spec(raw).message}")
    ran = (_spec(raw) for raw in found if raw["LeafNodeType"] == "It")
    return sorted(spec for spec in ran if spec.state not in SKIPPED)


def _spec(raw: dict[str, Any]) -> Spec:
    words = [*(raw["ContainerHierarchyTexts"] or ()), raw["LeafNodeText"]]
    name = re.sub(r"\s+", " ", " ".join(words)).strip()
    message = (raw.get("Failure") or {}).get("Message", "")
    return Spec(name, raw["State"], raw["RunTime"] / 1e9, message)
