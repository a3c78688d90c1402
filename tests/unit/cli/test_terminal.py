"""Nothing that a pod's author wrote moves the terminal of whoever looks."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.table import Table
from rich.text import Text

from moorage.cli.main import main
from moorage.cli.terminal import Terminal

CLI = Path(__file__).parents[3] / "src" / "moorage" / "cli"
NODE = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""
HOSTILE = r"\e]0;PWNED\a\e[31m\x9b31m"
SCHEDULER = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec: {{schedulerName: "m{HOSTILE}", containers: [{{name: c, image: i}}]}}
"""
TAINT = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec: {{nodeName: "n{HOSTILE}", containers: [{{name: c, image: i}}]}}
"""
MALFORMED = f"""
apiVersion: v1
kind: Pod
metadata: {{name: "{HOSTILE}"}}
spec: {{containers: [{{name: c, image: i}}]}}
"""


@pytest.mark.parametrize(
    ("words", "pod"),
    [
        pytest.param(["explain", "--pod", "web"], SCHEDULER, id="the words of an explanation"),
        pytest.param(["explain", "--pod", "web", "-o", "json"], SCHEDULER, id="data"),
        pytest.param(["simulate"], MALFORMED, id="an error"),
        pytest.param(["simulate", "--no-validate"], MALFORMED, id="the table of a simulation"),
        pytest.param(["explain", "--no-validate", "--pod", "web"], TAINT, id="a node's name"),
    ],
)
def test_control_characters_of_a_pod_are_shown(tmp_path: Path, words: list[str], pod: str) -> None:
    (tmp_path / "cluster.yaml").write_text(NODE + pod)

    ran = CliRunner().invoke(main, [*words, str(tmp_path / "cluster.yaml")])

    assert "PWNED" in ran.output
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.output) == []


def test_only_the_terminals_own_sequences_take_effect() -> None:
    console = Terminal(force_terminal=True, color_system="standard", width=80)
    table = Table("a")
    table.add_row("cell\x1b[2J")
    with console.capture() as printed:
        console.print(Text("bold\x1b[31m", style="bold"), "\x9b31m", "[red]ours[/]", table)

    assert "\x1b[1m" in printed.get()
    assert "\x1b[31mours" in printed.get()
    assert printed.get().count("\x1b[31m") == 1
    assert r"bold\u001b[31m" in printed.get()
    assert r"\u009b31m" in printed.get()
    assert r"cell\u0" in printed.get()
    assert "\x1b[2J" not in printed.get()
    assert "\x9b" not in printed.get()


def test_every_command_prints_through_these() -> None:
    others = [path for path in CLI.glob("*.py") if path.name not in {"standard_streams.py"}]
    assert len(others) > 40
    direct = re.compile(r"click\.(echo|secho)\(|(?<![\w.])Console\(|(?<![\w.])print\(")
    assert direct.search("    click.echo(1)")
    found = [path.name for path in others if direct.search(path.read_text(encoding="utf-8"))]
    assert found == []
