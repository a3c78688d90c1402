"""The run of one seed, and the figures that are kept of it."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.chaos.run import run


class Run(NamedTuple):
    """What one run has come to."""

    seed: int
    text: str
    violations: int
    counts: Counter[str]


def play(programs: Path, seed: int, seconds: float, patience: float) -> Run:
    """Run a seed in a folder of its own, which is kept where something was violated."""
    home = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
    report = run(programs, home, seed, seconds, patience)
    counts = Counter(report.did)
    counts.update(binds=report.checker.binds, pods=len(report.checker.story))
    counts.update(faults=len(report.faults), evicted=len(report.checker.evicted))
    counts.update(rejected=report.rejected)
    if not report.violations:
        shutil.rmtree(home)
    return Run(seed, report.text(), len(report.violations), counts)
