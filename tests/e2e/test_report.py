"""The table of specs is written from what ran, and says what only kube-scheduler passes."""

from pathlib import Path

import pytest

from tests.e2e import report
from tests.e2e.specs import Spec, read

PASSES = Spec("[sig-scheduling] A passes [Serial]", "passed", 3.2, "")
FAILS = Spec("[sig-scheduling] B fails", "failed", 9.0, "timed out")


def _results(peer: list[Spec], ours: list[Spec]) -> dict[str, dict[str, Spec]]:
    return {
        "kube-scheduler": {spec.name: spec for spec in peer},
        "moorage": {spec.name: spec for spec in ours},
    }


def test_what_only_kube_scheduler_passes_is_a_regression() -> None:
    results = _results([PASSES, FAILS._replace(state="passed")], [PASSES, FAILS])

    assert report.regressions(results) == [FAILS.name]


def test_what_was_not_run_with_moorage_is_a_regression() -> None:
    assert report.regressions(_results([PASSES], [])) == [PASSES.name]


def test_what_neither_passes_is_not_in_the_table() -> None:
    lines = report.table(_results([PASSES, FAILS], [PASSES, FAILS]))

    assert lines[2:] == ["| A passes | 3 s | 3 s |"]


def test_specs_that_are_not_run_are_counted_by_their_reason() -> None:
    lines = report.uncarried(
        ["[sig-x] A 1", "[sig-x] A 2", "B"], {r"\[sig-x\] (A|C)": "why", "D": "no"}
    )

    assert lines[2:] == ["| [sig-x] (A, C) | 2 | why |", "| D | 0 | no |"]


def test_the_table_stands_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")

    report.write(page, ["new"])

    assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_a_page_without_markers_is_not_written_to(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")

    with pytest.raises(ValueError, match="has no"):
        report.write(page, ["new"])


def _raw(name: str, state: str, kind: str = "It", message: str = "") -> dict[str, object]:
    return {
        "LeafNodeType": kind,
        "LeafNodeText": name,
        "ContainerHierarchyTexts": ["[sig-scheduling]  X"],
        "State": state,
        "RunTime": 2_000_000_000,
        "Failure": {"Message": message},
    }


def test_specs_that_do_not_apply_are_left_out() -> None:
    reports = [_raw("a", "passed"), _raw("b", "skipped"), _raw("", "passed", "BeforeSuite")]
    found = read([{"SpecReports": reports}])

    assert found == [Spec("[sig-scheduling] X a", "passed", 2.0, "")]


def test_preparations_that_failed_are_not_taken_for_an_empty_list_of_specs() -> None:
    reports = [_raw("", "failed", "SynchronizedBeforeSuite", "no ready nodes")]

    with pytest.raises(RuntimeError, match="no spec ran: no ready nodes"):
        read([{"SpecReports": reports}])
