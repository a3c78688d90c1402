"""Ten pods on two nodes, worked out by hand, from tables to KPIs.

Nodes n1 and n2 have 4 cpu each and cost 3.60 and 1.80 an hour. Every pod asks for 4 cpu, so each
node runs one at a time. Times in seconds; a pod that has waited is tried at once when a node comes
free, because by then its back-off is over, and the oldest goes first.

    pod  arrives  for   starts  ends   wait  completion
    a        0    100       0    100      0         100
    b        0    200       0    200      0         200
    c       20    100     100    200     80         180
    d       40    100     200    300    160         260
    e       60    100     200    300    140         240
    f      220    100     300    400     80         180
    g      240    100     300    400     60         160
    h      420     80     420    500      0          80
    i      420    180     420    600      0         180
    j      430    100     500    600     70         170

Both nodes are busy all the time from 0 to 400 and from 420 to 600, except that one is free from 500
on only if j were not there: it is. So 4 cpu x 2 x 580 s of 4 x 2 x 600 are asked for.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from tests.unit.simulate.scenarios import write_tables

NODES = """name,cpu,memory,price_per_hour
n1,4,8Gi,3.60
n2,4,8Gi,1.80
"""
PODS = """name,arrival_s,duration_s,cpu,namespace
a,0,100,4,red
b,0,200,4,red
c,20,100,4,red
d,40,100,4,red
e,60,100,4,red
f,220,100,4,blue
g,240,100,4,blue
h,420,80,4,blue
i,420,180,4,blue
j,430,100,4,blue
"""


def test_the_kpis_are_those_worked_out_by_hand(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, NODES, PODS)

    told = CliRunner().invoke(main, ["simulate", *tables, "--seed", "1", "-o", "json"])

    assert told.exit_code == 0, told.output
    kpis = json.loads(told.stdout)["kpis"]
    assert kpis["wait_s"]["mean"] == 59.0
    assert kpis["wait_s"]["p50"] == 65.0
    assert kpis["wait_s"]["p95"] == pytest.approx(151.0)
    assert kpis["wait_s"]["max"] == 160.0
    assert kpis["completion_s"]["mean"] == 175.0
    assert kpis["makespan_s"] == 600.0
    assert (kpis["pods"], kpis["finished"], kpis["never_placed"]) == (10, 10, 0)
    assert kpis["allocation"]["cpu"] == pytest.approx(580 / 600)
    assert kpis["utilisation"]["cpu"] == pytest.approx(580 / 600)
    assert kpis["cost"] == pytest.approx(5.40 * 580 / 3600)
    assert kpis["cost_provisioned"] == pytest.approx(5.40 * 600 / 3600)
    assert kpis["nodes_used"] == 2
    assert kpis["nodes_used_mean"] == pytest.approx(2 * 580 / 600)
    assert kpis["evictions"] == 0
    assert kpis["slo_attained"] == 5 / 10
    assert kpis["by_tenant"]["red"]["wait_s"]["mean"] == (0 + 0 + 80 + 160 + 140) / 5


def test_fairness_is_by_who_waits_and_who_runs(tmp_path: Path) -> None:
    """Alone all the time but from 220 to 300, when red has all and blue waits: one half."""
    tables = write_tables(tmp_path, NODES, PODS)

    told = CliRunner().invoke(main, ["simulate", *tables, "-o", "json"])

    assert json.loads(told.stdout)["kpis"]["fairness"] == pytest.approx((500 + 80 / 2) / 580)
