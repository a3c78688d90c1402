"""What a run of tests leaves out is said, and what it may not leave out fails."""

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
def test_without_programs(): pytest.skip("no etcd")

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


WANT = ["left out: 1 (make browser-tests), 4 (make kube-tests)"]


def test_the_tests_left_out_are_counted_by_what_runs_them(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_inprocess(*CHOSEN)) == WANT


def test_whoever_asks_for_tests_by_name_is_told_of_no_others(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_inprocess(*CHOSEN)) == WANT
    assert left_out(tests.runpytest_inprocess("-k", "quick")) == []


@pytest.mark.long
def test_workers_tell_of_them_too(tests: pytest.Pytester) -> None:
    assert left_out(tests.runpytest_subprocess(*CHOSEN, "-n", "2")) == WANT


def test_a_test_on_kubernetes_is_skipped_unless_its_programs_are_required(
    tests: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUIRE_KUBE", raising=False)
    tests.runpytest_inprocess("-k", "without").assert_outcomes(skipped=1, deselected=5)

    monkeypatch.setenv("REQUIRE_KUBE", "1")
    required = tests.runpytest_inprocess("-k", "without")

    required.assert_outcomes(failed=1, deselected=5)
    required.stdout.fnmatch_lines("*no etcd*and REQUIRE_KUBE=1*")
