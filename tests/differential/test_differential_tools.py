"""The tools of differential testing do what their reports rely on."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tests.differential.comparing import differences
from tests.differential.facts import facts
from tests.differential.features import FEATURES
from tests.differential.generating import THEMES, generate
from tests.differential.judging import Verdict, judge
from tests.differential.oracle import ROOT
from tests.differential.shrinking import differs_in, shrink
from tests.differential.words import Json

ALL = tuple(FEATURES)


def refused(*reasons: str, plugin: str = "NodeResourcesFit") -> Json:
    verdict = {"code": "Unschedulable", "plugin": plugin, "reasons": list(reasons)}
    return {"feasible": [], "rejected": {"n": verdict}}


class Saying:
    """Decides what it is told to, in turn."""

    def __init__(self, *outcomes: Json) -> None:
        self._outcomes = list(outcomes)

    def ask(self, cases: Sequence[Json]) -> list[Json]:
        return [self._outcomes[i % len(self._outcomes)] for i, _ in enumerate(cases)]


class Counting:
    """Rejects a case for every node that has the label `bad`."""

    def __init__(self, notices: bool) -> None:
        self._notices = notices

    def ask(self, cases: Sequence[Json]) -> list[Json]:
        return [refused("bad") if self._sees(case) else {"feasible": ["n"]} for case in cases]

    def _sees(self, case: Json) -> bool:
        labels = (node["metadata"].get("labels", {}) for node in case["nodes"])
        return self._notices and any("bad" in found for found in labels)


def test_a_case_is_a_function_of_seed_number_and_features() -> None:
    assert generate(7, 3, ALL) == generate(7, 3, ALL)
    assert generate(7, 3, ALL) != generate(8, 3, ALL)


def test_cases_do_not_depend_on_the_order_of_sets() -> None:
    """Python orders sets of strings differently from run to run."""
    program = (
        "from tests.differential.generating import generate\n"
        "from tests.differential.features import FEATURES\n"
        "print([generate(7, number, tuple(FEATURES)) for number in range(20)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1


def test_every_feature_is_drawn_sooner_or_later() -> None:
    drawn = {name for number in range(200) for name in generate(1, number, ALL)[1]}

    assert drawn == set(ALL)


def test_themes_are_made_of_features() -> None:
    assert {name for theme in THEMES for name in theme} <= set(ALL)


@pytest.mark.parametrize(
    ("want", "got", "kinds"),
    [
        pytest.param(
            refused("Insufficient cpu", "Insufficient a.b/x", "Insufficient a.b/y"),
            refused("Insufficient cpu", "Insufficient a.b/y", "Insufficient a.b/x"),
            set(),
            id="scalar resources are compared as a set",
        ),
        pytest.param(
            refused("Insufficient cpu", "Insufficient memory"),
            refused("Insufficient memory", "Insufficient cpu"),
            {("rejected", "NodeResourcesFit")},
            id="cpu and memory have their order",
        ),
        pytest.param(
            refused("x", plugin="A"),
            refused("x", plugin="B"),
            {("rejected", "A")},
            id="who refused first counts",
        ),
        pytest.param(
            {"feasible": ["n"], "scores": {"n": {"A": 0, "B": 3}}},
            {"feasible": ["n"], "scores": {"n": {"B": 4}}},
            {("scores", "B")},
            id="no score is a score of 0",
        ),
        pytest.param(
            {"error": "a: b"}, {"error": "c"}, set(), id="an error on both sides is no difference"
        ),
        pytest.param(
            {"error": "cannot read it"},
            {"feasible": []},
            {("error", "cannot read it")},
            id="an error on one side is",
        ),
    ],
)
def test_differences(want: Json, got: Json, kinds: set[Any]) -> None:
    assert {difference.kind for difference in differences(want, got)} == kinds


@pytest.mark.parametrize(
    ("oracle", "want", "verdict"),
    [
        pytest.param(Saying(refused("a")), refused("b"), Verdict.DIFFERS, id="it says so again"),
        pytest.param(
            Saying(refused("a"), refused("b")),
            refused("b"),
            Verdict.ONE_OF_SEVERAL,
            id="it wavers, and this is one of its answers",
        ),
        pytest.param(
            Saying(refused("a"), refused("b")), refused("c"), Verdict.CHANCE, id="it wavers"
        ),
    ],
)
def test_a_difference_is_one_only_if_kube_scheduler_repeats_itself(
    oracle: Saying, want: Json, verdict: Verdict
) -> None:
    case = {"id": "x", "nodes": [], "pods": [], "pod": {}}

    assert judge(case, refused("a"), want, oracle).verdict is verdict


def test_shrinking_leaves_what_the_difference_needs() -> None:
    def node(name: str, **labels: str) -> Json:
        return {"metadata": {"name": name, "labels": labels}, "status": {"x": [1, 2]}}

    case: Json = {"id": "x", "nodes": [node("a"), node("b", bad="1", c="2"), node("d")], "pods": []}
    case["pod"] = {"metadata": {"name": "p"}, "spec": {"containers": [{}]}}

    small = shrink(
        case, differs_in(("rejected", "NodeResourcesFit"), Counting(True), Counting(False))
    )

    assert small["nodes"] == [{"metadata": {"name": "b", "labels": {"bad": "1"}}}]
    assert small["pod"] == {"metadata": {"name": "p"}}


def test_facts_leave_names_and_numbers_out() -> None:
    assert facts(refused('claim "a" not found')) == facts(refused('claim "b" not found'))
