"""What the README shows of the demo is what the demo shows."""

import re
from pathlib import Path

from click.testing import CliRunner

from moorage.cli.main import main

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo"


def shown() -> list[str]:
    """The lines of the README's picture of the demo, as far as it quotes them."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```$", readme, re.S | re.M)
    block = next(each for each in blocks if each.startswith("NAMESPACE"))
    return [line.removesuffix(" ...").strip() for line in block.splitlines() if line != "..."]


def demo() -> str:
    command = ["simulate", str(DEMO / "cluster"), str(DEMO / "workloads"), "--seed", "7"]
    rules = ["--config", str(DEMO / "scheduler.yaml"), "--plugin", str(DEMO / "quiet_nodes.py")]
    told = CliRunner().invoke(main, [*command, *rules], env={"COLUMNS": "200"})

    assert told.exit_code == 0, told.output
    return told.output


def test_the_readme_quotes_the_demo() -> None:
    told, lines = demo(), shown()

    assert len(lines) > 5
    assert [line for line in lines if line not in told] == []


def test_the_demo_begins_with_its_pods_and_no_warning() -> None:
    assert demo().startswith("Pods")
