"""README and docs/plugins.md, followed from a fresh clone with an empty home, as they stand.

The fourth step of the tutorial, on a cluster, is followed in tests/integration/test_tutorial.py.
"""

import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.docs.reader import Step, clone, environment, follow, steps

README, TUTORIAL = ROOT / "README.md", DOCS / "plugins.md"
DEMO, PACKING = ROOT / "examples" / "demo", ROOT / "examples" / "simulation" / "packing"
ON_A_CLUSTER, WITHOUT_A_CLONE = "## 4. On a cluster", "## Without a clone"
SERVES = "moorage simulate cluster/ app.yaml --serve"
PORT = 8090
NOT_RUN = {
    "make bench-compare": "builds kube-scheduler with Go",
    "make bench-kube": "builds Kubernetes with Go",
    "make bench-perf": "builds Kubernetes with Go, and runs for hours",
    "make test": "runs for minutes, and is what .ci/run begins with",
    "moorage run --dashboard": "needs a cluster",
}
"""Commands of the README that nobody types here, and why."""


def named_in(readme: str) -> set[str]:
    """Commands that stand in the README's text, and not in a block of their own."""
    prose = re.sub(r"^```.*?^```", "", readme, flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`((?:make|moorage) [^`]+)`", prose))


def test_each_command_of_the_readme_is_followed_or_it_is_said_why_not() -> None:
    readme = README.read_text()
    shown = {step.command.partition("  ")[0] for step in steps(README)}

    assert {"make demo", SERVES} <= shown
    assert named_in(readme) - shown <= NOT_RUN.keys()
    assert [command for command in NOT_RUN if f"`{command}`" not in readme] == []


@pytest.mark.parametrize("command", [each for each in NOT_RUN if each.startswith("make ")])
def test_what_is_not_run_is_there_to_run(command: str) -> None:
    target = command.removeprefix("make ")
    makefiles = "".join(path.read_text() for path in [ROOT / "Makefile", *ROOT.rglob("*.mk")])

    assert re.search(rf"^{target}:", makefiles, re.MULTILINE)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_readme_works_as_it_stands(tmp_path: Path) -> None:
    home = clone(tmp_path / "moorage")
    (home / "cluster").symlink_to(DEMO / "cluster")
    manifests = sorted((DEMO / "workloads").glob("*.yaml"))
    (home / "app.yaml").write_text("---\n".join(each.read_text() for each in manifests))
    shutil.copy(DEMO / "scheduler.yaml", home)
    shutil.copy(DEMO / "quiet_nodes.py", home / "rules.py")
    shutil.copy(PACKING / "scenario.yaml", home)
    shutil.copy(PACKING / "kube-default.yaml", home / "today.yaml")
    shutil.copy(PACKING / "most-allocated.yaml", home / "tomorrow.yaml")
    given = environment(tmp_path / "home")
    wanted = [step for step in steps(README) if step.command != SERVES]

    told = follow(wanted, home, given)

    assert "ml/too-big" in told["make demo"]
    assert len(told) == len(wanted)
    assert (home / "verdict.html").stat().st_size > 10_000
    assert_it_serves_until_interrupted(home, given)


def assert_it_serves_until_interrupted(home: Path, given: dict[str, str]) -> None:
    with subprocess.Popen(
        f". .venv/bin/activate; exec {SERVES}{'' if is_free(PORT) else ' --http-port 0'}",
        shell=True,
        cwd=home,
        env=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        try:
            assert serving.stderr is not None
            assert "/dashboard/ until Ctrl-C" in serving.stderr.readline()
            serving.send_signal(signal.SIGINT)
            assert serving.wait(30) == 0
        finally:
            serving.kill()


def is_free(port: int) -> bool:
    """Whether nobody on this machine listens there; the page names no port, so it is this one."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_tutorial_works_as_it_stands(tmp_path: Path) -> None:
    home = tmp_path / "home"
    given, tree = environment(home), clone(home / "moorage")

    told = follow(steps(TUTORIAL, until=ON_A_CLUSTER), tree, given)

    assert "2 passed" in told["pytest test_tenant_zones.py"]
    (simulated,) = (output for command, output in told.items() if "simulate" in command)
    assert re.search(r"^default +web +west-1 ", simulated, re.MULTILINE)
    build, *outside = steps(TUTORIAL, WITHOUT_A_CLONE, "## What a rule may answer")
    follow([build], tree, given)
    (rules := tmp_path / "rules").mkdir()
    *_, last = follow(outside, rules, given).values()
    told_next = last.partition("Next:\n")[2].splitlines()
    follow([*outside[1:2], *(Step(0, line) for line in told_next)], rules, given)
    by_path = [f"{rules}/.venv/bin/moorage plugin new Other --package"]
    (printed,) = follow([Step(0, *by_path)], rules, given).values()
    not_activated = printed.partition("Next:\n")[2].splitlines()
    follow([Step(0, line) for line in not_activated], rules, given)
