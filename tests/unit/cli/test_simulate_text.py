"""The table of nodes fits the terminal, however many resources pods request."""

import io

import pytest
from rich.console import Console

from moorage.cli.simulate_text import print_report
from moorage.simulate.simulation_report import NodeReport, Report, ResourceUse


def printed(width: int, *resources: str) -> list[str]:
    """The lines of the table for one node that is half full of each resource."""
    half = dict.fromkeys(resources, ResourceUse(1, 2))
    node = NodeReport("node-a", "zone-a", 1, False, half)
    out = io.StringIO()
    print_report(Report((), (node,), 1), Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    start = lines.index(next(line for line in lines if line.startswith("Nodes")))
    return [line.rstrip() for line in lines[start + 1 : lines.index("", start)]]


@pytest.mark.parametrize(
    ("width", "want"),
    [
        pytest.param(
            80,
            [
                "NODE    ZONE    PODS  CPU              MEMORY           example.com/gpu",
                "node-a  zone-a     1  #####.....  50%  #####.....  50%  #####.....  50%",
            ],
            id="a bar for each where there is room",
        ),
        pytest.param(
            60,
            [
                "NODE    ZONE    PODS    CPU  MEMORY  example.com/gpu",
                "node-a  zone-a     1    50%     50%              50%",
            ],
            id="shares alone where bars are too wide",
        ),
        pytest.param(
            40,
            [
                "NODE    ZONE    PODS    CPU  MEMORY",
                "node-a  zone-a     1    50%     50%",
                "and 1 more resource: -o json shows them",
            ],
            id="the first of them where shares are too wide",
        ),
    ],
)
def test_columns_fit_the_terminal(width: int, want: list[str]) -> None:
    lines = printed(width, "cpu", "memory", "example.com/gpu")

    assert [line.replace("█", "#").replace("░", ".") for line in lines] == want
