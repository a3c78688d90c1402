"""Whoever runs a part of the tests is told how many others there are, and what runs them."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
SETTINGS = f"""[pytest]
pythonpath = {CONFTEST.parents[1]}
markers =
    kube
    browser
    long
"""
TESTS = """
import pytest

def test_quick(): pass

@pytest.mark.kube
@pytest.mark.parametrize("number", range(3))
def test_on_kubernetes(number): pass

@pytest.mark.kube
@pytest.mark.browser
def test_in_a_browser(): pass
"""
CHOSEN = ("-m", "not kube and not browser", "-p", "no:cacheprovider")


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(SETTINGS)
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(TESTS)
    return pytester


def left_out(outcome: pytest.RunResult) -> list[str]:
    assert outcome.ret == 0
    return [line for line in outcome.outlines if line.startswith("left out:")]


WANT = ["left out: 1 (make browser-tests), 3 (make kube-tests)"]


def test_the_tests_left_out_are_counted_by_what_runs_them(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_inprocess(*CHOSEN)) == WANT


def test_whoever_asks_for_tests_by_name_is_told_of_no_others(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_inprocess(*CHOSEN)) == WANT
    assert left_out(tests.runpytest_inprocess("-k", "quick")) == []


@pytest.mark.long
def test_workers_tell_of_them_too(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_subprocess(*CHOSEN, "-n", "2")) == WANT
