"""The tool that changes the source in a sample of places."""

import ast
import importlib
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import trials as trying
from tests.mutants.__main__ import sample, summary, trials
from tests.mutants.reach import SOURCE, Reached
from tests.mutants.sites import sites, stretches
from tests.mutants.trials import NOT_COVERED, SURVIVED, Mutant, Result, install

LOOP = """
class Counter:
    def count(self, most):
        "One by one."
        for each in range(most):
            if each < 2 and most:
                continue
            log.info("counted")
            self.add(each, weight=1)
        return self
"""


def test_a_module_is_changed_in_every_way_that_it_offers() -> None:
    changes = [site.change for site in sites(ast.parse(LOOP))]
    shown = []
    for change in changes:
        before = change.show()
        change.make()
        shown.append((change.kind, before, change.show()))

    assert shown == [
        ("condition negated", "each < 2 and most", "not (each < 2 and most)"),
        ("and/or", "each < 2 and most", "each < 2 or most"),
        ("comparison swapped", "each < 2", "each > 2"),
        ("boundary", "each > 2", "each <= 2"),
        ("off by one", "2", "3"),
        ("break/continue", "continue", "break"),
        ("statement removed", "self.add(each, weight=1)", "nothing"),
        ("argument dropped", "self.add(each, weight=1)", "self.add(each)"),
        ("off by one", "1", "2"),
        ("return None", "return self", "return None"),
    ]


def test_what_runs_together_is_one_stretch() -> None:
    found = [
        [ast.unparse(each).splitlines()[0] for each in stretch.body[stretch.start : stretch.end]]
        for stretch in stretches(ast.parse(LOOP))
    ]

    assert found == [
        ["'One by one.'", "for each in range(most):"],
        ["if each < 2 and most:"],
        ["continue"],
        ["log.info('counted')", "self.add(each, weight=1)"],
        ["return self"],
    ]


def test_a_sample_has_as_many_of_each_group_and_is_the_same_for_its_seed() -> None:
    names = ("queue/heap.py", "api/quantity.py", "cache/cache.py", "config/durations.py")
    files = [SOURCE / name for name in names]

    drawn = sample(5, 35, files)

    assert Counter(mutant.group for mutant in drawn) == {"contracts": 5, "engine": 5}
    assert len({mutant.kind for mutant in drawn}) > 3
    assert sample(5, 35, files) == drawn
    assert sample(6, 35, files) != drawn


def test_a_test_reaches_the_stretches_whose_marks_it_left() -> None:
    marked = bytearray(200)
    marked[9] = marked[100] = 1

    assert Reached.of("a", 0.1, marked).among([8, 9, 10, 100, 101]) == [9, 100]


def test_a_mutant_meets_the_tests_that_reach_it_those_of_its_package_first() -> None:
    mutant = Mutant("engine", "queue/heap.py", 0, 1, "boundary", "a < b", "a <= b")
    marks = bytearray(200)
    elsewhere = Reached.of("tests/unit/cli/a", 0.1, marks)
    marks[7] = 1
    reached = [
        Reached.of(test, seconds, marks)
        for test, seconds in (
            ("tests/unit/gang/quick", 0.1),
            ("tests/unit/queue/slow", 3.0),
            ("tests/unit/queue/quick", 0.2),
        )
    ]

    (trial,) = trials({mutant: 7}, [elsewhere, *reached])
    (uncovered,) = trials({mutant: 8}, [elsewhere, *reached])

    assert trial.tests == [
        "tests/unit/queue/quick",
        "tests/unit/queue/slow",
        "tests/unit/gang/quick",
    ]
    assert trial.seconds == pytest.approx(3.3)
    assert uncovered.tests == []


def changed(kind: str, by: str) -> Result:
    return Result(Mutant("engine", "queue/heap.py", 0, 1, kind, "a < b", "a <= b"), by)


def test_the_summary_names_survivors_and_leaves_equivalents_out_of_the_share() -> None:
    results = [
        changed("boundary", SURVIVED),
        changed("and/or", NOT_COVERED),
        changed("off by one", "tests/unit/queue/test_heap.py::test_order"),
        changed("return None", "timed out"),
    ]
    equal = results[0].mutant.name

    lines = [line for line in summary(results, {equal: "a is never b"}) if "0 of 0" not in line]

    assert lines == [
        "engine: 2 of 3 killed, 66 % (1 by the time they took)",
        "  queue/heap.py:1 boundary: a < b -> a <= b: equivalent: a is never b",
        "  queue/heap.py:1 and/or: a < b -> a <= b: not covered",
    ]


def test_a_mutant_is_installed_in_every_place_that_knows_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "toyshop"
    package.mkdir()
    (package / "till.py").write_text("def is_rich(money):\n    return money > 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trying, "SOURCE", package)
    is_rich = importlib.import_module("toyshop.till").is_rich

    install(Mutant("", "till.py", 2, 2, "boundary", "money > 5", "money >= 5"))

    assert is_rich(5)
    assert not is_rich(4)
