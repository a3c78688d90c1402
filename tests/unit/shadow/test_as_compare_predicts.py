"""What a shadow finds of another policy is what `moorage compare` predicts for the same pods."""

from pathlib import Path

import pytest

from moorage.shadow.process import CLUSTER
from moorage.simulate.scenario_run import run_scenario
from moorage.simulate.trace_scenario import scenario_of_tables
from tests.unit.shadow.test_shadow import DEFAULT, PACKING, pod, shadowed

PODS, NODES = 60, 10


def tables(folder: Path) -> tuple[str, str]:
    nodes, pods = folder / "nodes.csv", folder / "pods.csv"
    nodes.write_text(f"name,cpu,memory,pods,count\nn,8,32Gi,110,{NODES}\n")
    rows = ["name,arrival_s,duration_s,cpu,memory"]
    for number in range(PODS):
        cpu = ("250m", "500m", "1", "1500m")[number % 4]
        rows.append(f"p{number},{number / 5},,{cpu},1Gi")
    pods.write_text("\n".join(rows) + "\n")
    return str(nodes), str(pods)


def test_the_drifting_world_differs_from_the_cluster_as_compare_predicts(tmp_path: Path) -> None:
    scenario = scenario_of_tables(*tables(tmp_path))
    before = run_scenario(scenario, DEFAULT, 1).kpis
    after = run_scenario(scenario, PACKING, 1).kpis
    found = shadowed([pod(number) for number in range(PODS)], PACKING, nodes=NODES)
    predicted = after["nodes_used"] - before["nodes_used"]
    seen = found.kpis("packing")["nodes_used"] - found.kpis(CLUSTER)["nodes_used"]
    assert predicted < 0
    assert seen == predicted
    balance = after["balance"]["cpu"] - before["balance"]["cpu"]
    shown = found.kpis("packing")["balance"]["cpu"] - found.kpis(CLUSTER)["balance"]["cpu"]
    assert shown == pytest.approx(balance, abs=0.1)
