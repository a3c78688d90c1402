"""The report: one file that says what was found, and shows it in a browser without a network."""

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.simulate import sweep
from moorage.simulate.comparison import compare
from moorage.simulate.report import charts, words
from moorage.simulate.scenario_run import RunResult
from tests.unit.simulate.scenarios import (
    KUBE,
    PACKING,
    nodes,
    random_arrivals,
    scenario,
    write_tables,
)

pytest.importorskip("altair", reason="pip install 'moorage[report]'")
pytest.importorskip("vl_convert", reason="pip install 'moorage[report]'")

NODES = "name,cpu,memory,price_per_hour,count\nn,4,16Gi,1.0,6\n"
PODS = "name,arrival_s,duration_s,cpu,memory,labels\n" + "".join(
    f"p{i},{9 * i},{30 + 31 * i % 40},{1 + i % 2},1Gi,app=<b>w{i % 2}\n" for i in range(24)
)

ODD = "kube<b>.yaml"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "packing.yaml").write_bytes(PACKING.text)
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    (folder / ODD).write_text(head)
    target = folder / "out.html"
    configs = ["--config", str(folder / ODD), "--config", str(folder / "packing.yaml")]
    tables = write_tables(folder, NODES, PODS)

    told = CliRunner().invoke(
        main,
        ["compare", *tables, *configs, "--seeds", "3", "--workers", "1", "--report", str(target)],
    )

    assert told.exit_code == 0, told.output
    return target


def test_the_distribution_of_waits_goes_up_to_the_longest() -> None:
    waits = tuple(float(each) for each in range(995))
    found = compare("a week", "1", {"kube": [RunResult(1, {"pods": 995}, waits=waits)]})

    last = charts.waits_of(found)[-1]

    assert (last["seconds"], last["share"]) == (994.0, 1.0)


def test_it_says_everything(report: Path) -> None:
    text = report.read_text()

    for part in ("What changes between", "packing is better than kube", "cost of nodes in use",
                 "MostAllocated", "How to run it again", "Nodes in use"):  # fmt: skip
        assert part in text, part
    assert text.count("<svg") >= 5


def test_it_needs_nothing_else(report: Path) -> None:
    text = report.read_text()
    addresses = {
        found for found in re.findall(r"https?://[^\"'\s)<]+", text) if "www.w3.org" not in found
    }

    assert not addresses
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(?!data:)", text.replace('xlink:href="#', ""))


def test_what_users_wrote_is_escaped(report: Path) -> None:
    text = report.read_text()

    assert escape("kube<b>") in text
    assert "<b>" not in text


@pytest.mark.browser
def test_a_browser_shows_it_without_a_word_of_complaint(report: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium: apt-get install chromium")
    shot = tmp_path / "shot.png"
    command = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=390,900", f"--screenshot={shot}", report.as_uri(),
    ]  # fmt: skip
    told = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    assert "CONSOLE" not in told.stderr
    assert "ERR_" not in told.stderr
    assert shot.stat().st_size > 5_000


def test_the_verdict_is_in_words() -> None:
    played = scenario(nodes(8), random_arrivals(40, seed=1))
    results, _ = sweep.run_all(played, sweep.tasks_of([KUBE, PACKING], [1, 2, 3]))
    found = compare("test", "0", results)

    first, second = words.verdict(found, ("kube-default", "packing"))

    assert first.startswith("packing is better than kube-default")
    assert "nodes in use -" in second


def test_the_same_twice_is_no_difference() -> None:
    played = scenario(nodes(8), random_arrivals(20, seed=1))
    results, _ = sweep.run_all(played, sweep.tasks_of([KUBE], [1, 2]))
    found = compare("test", "0", {"a": results[KUBE.name], "b": results[KUBE.name]})

    assert words.verdict(found, ("a", "b")) == [
        "b does not differ from a by more than chance, in 2 seeds."
    ]


def test_one_seed_tells_nothing() -> None:
    played = scenario(nodes(8), random_arrivals(10, seed=1))
    results, _ = sweep.run_all(played, sweep.tasks_of([KUBE, PACKING], [1]))

    (told,) = words.verdict(compare("test", "0", results), ("kube-default", "packing"))

    assert "One seed tells nothing of chance" in told


def test_a_target_that_is_no_page(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, NODES, PODS)

    told = CliRunner().invoke(main, ["compare", *tables, "--report", "out.txt"])

    assert told.exit_code == 2
    assert "a report is an .html file" in told.stderr
