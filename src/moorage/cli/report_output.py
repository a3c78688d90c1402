"""Reports of comparisons: what the command line adds to them."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from moorage.cli.comparison_output import shown_kpis
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison
from moorage.simulate.report import page
from moorage.simulate.report.page import ReportContext


def write_report(
    found: Comparison, question: str, candidates: Sequence[Candidate], path: str
) -> None:
    """Write the page."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    context = ReportContext(question, tuple(candidates), command, tuple(shown_kpis(found)))
    page.write_report(found, context, path)
