"""`moorage compare` as people and scripts use it: rules, tables of results, being interrupted."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from moorage.cli.run_progress import RunProgress
from moorage.config.field_errors import InputError
from moorage.simulate import sweep
from moorage.simulate.comparison import compare
from moorage.simulate.failure_rules import read_rule
from moorage.simulate.scenario_run import RunResult
from moorage.simulate.sweep import Task
from moorage.simulate.workload_changes import workload_changes
from tests.unit.simulate.scenarios import PACKING, write_tables

NODES = "name,cpu,memory,price_per_hour,count\nn,4,16Gi,1.0,6\n"
PODS = "name,arrival_s,duration_s,cpu,memory,labels\n" + "".join(
    f"p{i},{9 * i},{30 + 31 * i % 40},{1 + i % 2},1Gi,app=w{i % 2}\n" for i in range(24)
)
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    (tmp_path / "kube.yaml").write_text(HEAD)
    (tmp_path / "packing.yaml").write_bytes(PACKING.text)
    configs = [str(tmp_path / name) for name in ("kube.yaml", "packing.yaml")]
    tables = write_tables(tmp_path, NODES, PODS)
    return [*tables, "--config", configs[0], "--config", configs[1], "--seeds", "3"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["compare", *args, "--workers", "1"])


def test_a_rule_that_is_broken_ends_with_one(options: list[str]) -> None:
    told = run(*options, "--fail-if", "nodes_used_mean < -10%")

    assert told.exit_code == 1
    assert "packing: nodes_used_mean is -" in told.stderr
    assert "fails nodes_used_mean < -10%" in told.stderr


def test_a_rule_that_is_kept_ends_with_zero(options: list[str]) -> None:
    assert run(*options, "--fail-if", "cost > +5%", "--fail-if", "never_placed > 0").exit_code == 0


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("wait", "not a rule"),
        ("cost > 5%", "a percentage is of a change: write +5%"),
        ("p95_wiat > +5%", 'no KPI \'p95_wiat\''),
    ],
)  # fmt: skip
def test_a_rule_that_is_none(options: list[str], rule: str, line: str) -> None:
    told = run(*options, "--fail-if", rule)

    assert told.exit_code == 2
    assert line in told.stderr


@pytest.mark.parametrize(
    ("rule", "nearest"),
    [
        ("p95_wiat > +5%", "p95_wait, p50_wait"),
        ("costs > 1", "cost, "),
        ("alloc > 1", "allocation.*"),
    ],
)
def test_a_rule_about_no_kpi_is_refused_before_anything_is_run(
    options: list[str], monkeypatch: pytest.MonkeyPatch, rule: str, nearest: str
) -> None:
    monkeypatch.setattr(sweep, "run_all", None)

    told = run(*options, "--fail-if", rule)

    assert told.exit_code == 2, told.output
    assert f"choose of {nearest}" in told.stderr
    assert "never_placed" in told.stderr


def test_a_change_needs_two_configurations(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "run_all", None)
    of_one = [*options[:6], "--fail-if", "cost > +5%"]

    told = run(*of_one)

    assert told.exit_code == 2, told.output
    assert "--fail-if cost > +5%: a change is one against the first configuration" in told.stderr


def test_what_only_some_runs_have_measured_is_told_so() -> None:
    seen, unseen = RunResult(1, {"spread_kept": 0.5}), RunResult(2, {"spread_kept": None})
    found = compare("test", "1", {"kube": [seen, unseen]})

    with pytest.raises(InputError, match="not every run of kube has measured 'spread_kept'"):
        read_rule("spread_kept < 1").broken_by(found)


@pytest.mark.parametrize("name", ["by_tenant.a.b.wait_s.p95", "allocation.nvidia.com/gpu", "cost"])
def test_names_that_only_a_run_knows_are_let_in(name: str) -> None:
    assert read_rule(f"{name} > 1").kpi == name


def results(waits: list[float], never: int = 0) -> list[RunResult]:
    times = {"wait_s": {"mean": 0.0}, "never_placed": never}
    return [
        RunResult(seed, {"wait_s": {"p95": wait}, "by_workload": {"t/a.b": {
            **times, "wait_s": {"mean": wait}}}})
        for seed, wait in enumerate(waits, start=1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("p95_wait > +5%", True),
        ("p95_wait > +15%", False),
        ("p95_wait > +0.5", True),
        ("p95_wait >= 11", True),
        ("p95_wait > 11", False),
        ("wait_s.p95 < -1%", False),
    ],
)
def test_rules_by_hand(rule: str, broken: bool) -> None:
    """10 becomes 11: +1, +10 %."""
    found = compare("s", "v", {"a": results([10, 10]), "b": results([11, 11])})

    assert bool(read_rule(rule).broken_by(found)) is broken


def test_who_gained_and_who_lost() -> None:
    better = compare("s", "v", {"a": results([10, 12, 11]), "b": results([5, 7, 6])})
    worse = compare("s", "v", {"a": results([5, 7, 6]), "b": results([10, 12, 11])})
    same = compare("s", "v", {"a": results([5, 7, 6]), "b": results([7, 5, 6])})

    assert [(c.workload, c.verdict, c.mean) for c in workload_changes(better)] == [
        ("t/a.b", "gained", -5.0)
    ]
    assert [change.verdict for change in workload_changes(worse)] == ["lost"]
    assert workload_changes(same) == []


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_every_run_is_a_row(options: list[str], tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="pip install 'moorage[parquet]'")
    target = tmp_path / f"out.{suffix}"

    told = run(*options, "--results", str(target), "-o", "json")

    data = json.loads(told.stdout)
    first = data["configurations"][0]["seeds"][0]["kpis"]
    assert told.exit_code == 0, told.output
    assert _rows(target)[0] == ("kube", 1, first["nodes_used_mean"])
    assert len(_rows(target)) == 6


def _rows(target: Path) -> list[tuple[str, int, float]]:
    rows: list[dict[str, Any]]
    if target.suffix == ".json":
        data = json.loads(target.read_text())
        return [
            (each["name"], seed["seed"], seed["kpis"]["nodes_used_mean"])
            for each in data["configurations"]
            for seed in each["seeds"]
        ]
    if target.suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(target).to_pylist()
    else:
        rows = list(csv.DictReader(target.read_text().splitlines()))
    return [(r["configuration"], int(r["seed"]), float(r["nodes_used_mean"])) for r in rows]


def test_a_target_that_cannot_be_written_is_refused_first(options: list[str]) -> None:
    told = run(*options, "--results", "nowhere/out.csv")

    assert told.exit_code == 2
    assert "no such folder" in told.stderr


def test_a_configuration_that_schedules_nothing(tmp_path: Path) -> None:
    config = tmp_path / "none.yaml"
    config.write_text(HEAD)
    big = write_tables(tmp_path, NODES, "name,cpu\np,100\n")

    told = run(*big, "--config", str(config), "--seeds", "1", "-o", "json")

    assert told.exit_code == 2
    assert "none: not a single pod was scheduled" in told.stderr
    assert told.stdout == ""


def test_a_plugin_that_hangs_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(
        "from moorage import Filter\n\n\nclass Hangs(Filter, frozen=True):\n"
        "    def filter(self, cycle, pod, node):\n        while True:\n            pass\n"
    )
    (tmp_path / "hangs.yaml").write_text(
        HEAD + "profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: Hangs}]\n"
        "---\napiVersion: moorage/v1\nkind: MoorageConfiguration\npluginGuard: {deadline: 50ms}\n"
    )
    tables = write_tables(tmp_path, NODES, "name,cpu,duration_s\np,1,5\n")
    args = [*tables, "--config", str(tmp_path / "hangs.yaml"), "--plugin"]

    told = run(*args, str(tmp_path / "hangs.py"), "--seeds", "1", "-o", "json")

    assert told.exit_code == 1, told.output
    assert "Hangs" in told.stderr


def test_being_interrupted_tells_what_is_done(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def ctrl_c_after_three(bar: RunProgress, task: Task, result: RunResult) -> None:
        done.append(task.seed)
        if len(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunProgress, "done", ctrl_c_after_three)

    told = run(*options[:-1], "400", "-o", "json", "--results", str(tmp_path / "out.csv"))

    assert told.exit_code == 130
    assert "interrupted: this is what was done by then" in told.stderr
    kube, packing = json.loads(told.stdout)["configurations"]
    assert [len(each["seeds"]) for each in (kube, packing)] == [2, 1]
    assert len(_rows(tmp_path / "out.csv")) == 3
