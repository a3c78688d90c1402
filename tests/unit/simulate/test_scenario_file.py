"""Scenario files: every part of one has an effect, and every fault its line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.config.field_errors import ConfigError, InputError
from moorage.simulate.candidate import read_candidates
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
from moorage.simulate.scenario_run import even_sample, run_scenario
from tests.unit.cli import bad_plugins
from tests.unit.simulate.scenarios import KUBE

NODE = {"name": "n", "count": 2, "cpu": "4", "memory": "8Gi"}
AUTO = {"name": "auto", "cpu": "4", "memory": "8Gi"}
POD = {"name": "p", "cpu": "2"}


def written(folder: Path, **parts: Any) -> Scenario:
    data = {"apiVersion": "moorage/v1", "kind": "Scenario", "cluster": {"nodes": [NODE]}, **parts}
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(data))
    return read_scenario_file(str(file))


def kpis(scenario: Scenario, seed: int = 1) -> dict[str, Any]:
    return run_scenario(scenario, KUBE, seed).kpis


def replicas(*steps: tuple[float, int], **pod: Any) -> dict[str, Any]:
    scale = [{"atSeconds": at, "replicas": count} for at, count in steps]
    return {"deployments": [{"pod": {**POD, **pod}, "scale": scale}]}


@pytest.mark.parametrize(
    ("cpu", "pods", "asked"),
    [
        pytest.param(4, 10, 2, id="whole numbers"),
        pytest.param(4.0, 1e1, 2.0, id="numbers with a point"),
    ],
)
def test_quantities_may_be_numbers(tmp_path: Path, cpu: float, pods: float, asked: float) -> None:
    texts = {**NODE, "pods": "10", "resources": {"example.com/fpga": "2"}}
    numbers = {**NODE, "cpu": cpu, "pods": pods, "resources": {"example.com/fpga": 2}}

    quoted = written(tmp_path, cluster={"nodes": [texts]}, arrivals=replicas((0, 5)))
    plain = written(tmp_path, cluster={"nodes": [numbers]}, arrivals=replicas((0, 5), cpu=asked))

    assert kpis(plain) == kpis(quoted)


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        pytest.param(True, "text, got true or false", id="a truth is no quantity"),
        pytest.param(-1, "is negative", id="a quantity is not below zero"),
    ],
)
def test_a_number_that_is_no_quantity(tmp_path: Path, cpu: float, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        written(tmp_path, cluster={"nodes": [{**NODE, "cpu": cpu}]}, arrivals=replicas((0, 1)))


def test_generators_draw_other_pods_for_other_seeds(tmp_path: Path) -> None:
    generator = {"seconds": 3600, "perHour": 100, "pods": [POD]}
    found = written(tmp_path, arrivals={"generators": [generator]})

    assert list(found.arrivals_of(1)) == list(found.arrivals_of(1))
    assert list(found.arrivals_of(1)) != list(found.arrivals_of(2))
    assert 70 < len(list(found.arrivals_of(1))) < 130


def test_a_day_has_its_peak(tmp_path: Path) -> None:
    generator = {
        "seconds": 86400, "perHour": 200, "diurnal": {"peakHour": 12, "low": 0}, "pods": [POD],
    }  # fmt: skip
    found = written(tmp_path, arrivals={"generators": [generator]})
    hours = [arrival.time // 3600 for arrival in found.arrivals_of(1)]

    assert sum(11 <= hour < 13 for hour in hours) > 20 * sum(hour in (0, 23) for hour in hours)


def test_bursts_come_together(tmp_path: Path) -> None:
    bursts = {"everySeconds": 100, "pods": 3, "overSeconds": 1}
    generator = {"seconds": 250, "bursts": bursts, "pods": [POD]}
    found = written(tmp_path, arrivals={"generators": [generator]})

    assert [arrival.time // 10 for arrival in found.arrivals_of(1)] == [0] * 3 + [10] * 3 + [20] * 3


def test_pods_of_a_mix_come_by_weight_and_run_as_long_as_drawn(tmp_path: Path) -> None:
    shapes = [
        {"name": "long", "weight": 9, "runs": {"meanSeconds": 50, "distribution": "fixed"}},
        {"name": "short", "weight": 1, "runs": {"meanSeconds": 10}},
    ]
    generator = {"seconds": 3600, "perHour": 500, "pods": shapes}
    found = list(written(tmp_path, arrivals={"generators": [generator]}).arrivals_of(1))
    long = [arrival for arrival in found if arrival.name.startswith("long")]

    assert {arrival.duration for arrival in long} == {50}
    assert 0.85 < len(long) / len(found) < 0.95


def test_a_gang_waits_until_all_of_it_fits(tmp_path: Path) -> None:
    gang = {
        "name": "g",
        "cpu": "2",
        "gang": 4,
        "runs": {"meanSeconds": 10, "distribution": "fixed"},
    }
    arrivals = {
        "generators": [
            {
                "fromSeconds": 5,
                "seconds": 1,
                "bursts": {"everySeconds": 9, "pods": 1},
                "pods": [gang],
            }
        ],
        **replicas((0, 1), (100, 0)),
    }
    found = kpis(written(tmp_path, arrivals=arrivals))

    assert (found["gangs"], found["gangs_never_placed"]) == (1, 0)
    assert found["wait_s"]["max"] == 95.0


def test_a_deployment_scales_over_time(tmp_path: Path) -> None:
    found = written(tmp_path, arrivals=replicas((0, 2), (100, 4), (200, 1)), horizonSeconds=300)

    result = run_scenario(found, KUBE, 1)

    assert result.kpis["allocation"]["cpu"] == pytest.approx((4 + 8 + 2) / (3 * 8))
    assert (result.kpis["pods"], result.kpis["evictions"]) == (4, 0)


def test_a_cron_job_comes_by_its_schedule(tmp_path: Path) -> None:
    job = {
        "schedule": "*/10 1 * * *", "seconds": 7200, "parallelism": 2,
        "pod": {**POD, "runs": {"meanSeconds": 60, "distribution": "fixed"}},
    }  # fmt: skip
    found = written(tmp_path, arrivals={"cronJobs": [job]})

    assert [arrival.time for arrival in found.arrivals_of(1)][::2] == [
        3600.0, 4200.0, 4800.0, 5400.0, 6000.0, 6600.0,
    ]  # fmt: skip
    assert kpis(found)["finished"] == 12


def test_a_cron_job_runs_as_long_as_is_drawn(tmp_path: Path) -> None:
    pod = {**POD, "runs": {"meanSeconds": 60, "distribution": "uniform"}}
    job = {"schedule": "* * * * *", "seconds": 60_000, "pod": pod}
    found = written(tmp_path, arrivals={"cronJobs": [job]})
    ran = [each.duration or 0.0 for each in found.arrivals_of(1)]

    assert ran == [each.duration for each in found.arrivals_of(1)]
    assert ran != [each.duration for each in found.arrivals_of(2)]
    assert sum(ran) / len(ran) == pytest.approx(60, rel=0.1)
    assert max(ran) == pytest.approx(120, rel=0.1)


def spot(**more: Any) -> dict[str, Any]:
    storm = {"storms": [{"atSeconds": 100, "share": 1.0}], "noticeSeconds": 10, **more}
    return {"nodes": [{**NODE, "count": 1, "spot": storm}]}


def running(tmp_path: Path, cluster: dict[str, Any], **more: Any) -> dict[str, Any]:
    pod = {**POD, "runs": {"meanSeconds": 150, "distribution": "fixed"}}
    job = {"schedule": "0 0 * * *", "seconds": 60, "pod": pod}
    return kpis(written(tmp_path, cluster=cluster, arrivals={"cronJobs": [job]}, **more))


def test_a_reclaimed_node_takes_the_work_with_it(tmp_path: Path) -> None:
    """It runs 100 s in vain, waits 10 s for the node to go and 50 s for another, and runs 150."""
    found = running(tmp_path, spot(replaceSeconds=50))

    assert (found["evictions"], found["work_lost_s"]) == (1, 100.0)
    assert found["completion_s"]["max"] == pytest.approx(100 + 60 + 150, abs=11)


def test_a_checkpoint_saves_most_of_it(tmp_path: Path) -> None:
    found = running(tmp_path, spot(replaceSeconds=50), pods={"checkpointSeconds": 40})

    assert (found["evictions"], found["work_lost_s"]) == (1, 20.0)
    assert found["completion_s"]["max"] == pytest.approx(100 + 60 + 70, abs=11)


def test_a_pod_that_is_not_retried_is_gone(tmp_path: Path) -> None:
    found = running(tmp_path, spot(replaceSeconds=50), pods={"retry": False})

    assert (found["evictions"], found["finished"]) == (1, 0)


def test_nodes_fail_and_are_repaired(tmp_path: Path) -> None:
    failures = {"meanSeconds": 60, "repairSeconds": 30, "evictSeconds": 5}
    cluster = {"nodes": [{**NODE, "count": 1, "failures": failures}]}
    found = running(tmp_path, cluster, pods={"checkpointSeconds": 0})

    assert found["evictions"] > 0
    assert (found["work_lost_s"], found["finished"]) == (0.0, 1)


def test_an_autoscaler_starts_nodes_for_pods_that_wait_and_ends_them(tmp_path: Path) -> None:
    group = {**AUTO, "pricePerHour": 3.6, "most": 3, "startSeconds": 60}
    cluster = {"autoscaler": {"nodes": [group], "idleSeconds": 100, "everySeconds": 10}}
    found = kpis(written(tmp_path, cluster=cluster, arrivals=replicas((0, 4), (500, 0))))

    assert found["never_placed"] == 0
    assert found["wait_s"]["max"] == pytest.approx(70, abs=11)
    assert found["nodes_used"] == 2
    assert found["cost"] == pytest.approx(2 * 430 / 1000, abs=0.02)


def test_an_autoscaler_starts_no_node_for_pods_that_one_is_starting_for(tmp_path: Path) -> None:
    """One for both, there from 70 to 200 s, though they back off until 74; it looks every 10 s."""
    group = {"name": "auto", "cpu": "4", "pricePerHour": 3600, "startSeconds": 60}
    cluster = {"autoscaler": {"nodes": [group], "everySeconds": 10}}
    found = kpis(written(tmp_path, cluster=cluster, arrivals=replicas((0, 2), (200, 0))))

    assert (found["wait_s"]["max"], found["cost_provisioned"]) == (74.0, 130.0)


def test_an_autoscaler_starts_no_node_for_pods_that_find_room(tmp_path: Path) -> None:
    """One pod fills n until 10 s, when the autoscaler looks, and the other takes its place."""
    node = {**NODE, "count": 1, "pricePerHour": 3600}
    auto = {**AUTO, "pricePerHour": 3600}
    cluster = {"nodes": [node], "autoscaler": {"nodes": [auto]}}
    arrivals = replicas((0, 1), (10, 0), name="first", cpu="4")
    arrivals["deployments"] += replicas((0, 1), (200, 0), cpu="4")["deployments"]
    found = kpis(written(tmp_path, cluster=cluster, arrivals=arrivals))

    assert found["cost_provisioned"] == 200.0


def test_an_autoscaler_starts_no_more_than_it_may(tmp_path: Path) -> None:
    group = {**AUTO, "most": 1, "startSeconds": 10}
    cluster = {"autoscaler": {"nodes": [group]}}
    found = kpis(written(tmp_path, cluster=cluster, arrivals=replicas((0, 4))))

    assert (found["never_placed"], found["nodes_used"]) == (2, 1)


def test_a_node_that_comes_again_is_one_of_those_an_autoscaler_may_have(tmp_path: Path) -> None:
    """A pod fills a node: no more of them are there than pods, whatever fails and is repaired."""
    failures = {"meanSeconds": 40, "repairSeconds": 10, "evictSeconds": 0}
    group = {"name": "auto", "cpu": "4", "most": 2, "startSeconds": 10, "failures": failures}
    cluster = {"autoscaler": {"nodes": [group], "idleSeconds": 15, "everySeconds": 5}}
    arrivals = replicas((0, 6), (1000, 0), cpu="4")
    found = run_scenario(written(tmp_path, cluster=cluster, arrivals=arrivals), KUBE, 1)

    assert found.kpis["evictions"] > 10
    assert max(moment.nodes for _, moment in found.curve) == 2


def test_an_autoscaler_deals_its_nodes_out_over_zones(tmp_path: Path) -> None:
    group = {"name": "auto", "cpu": "4", "zones": ["a", "b"], "startSeconds": 10}
    cluster = {"autoscaler": {"nodes": [group]}}
    labels = {"app": "web"}
    found = written(tmp_path, cluster=cluster, arrivals=replicas((0, 2), cpu="4", labels=labels))

    assert kpis(found)["spread_kept"] == 1.0


def test_a_pod_may_choose_the_zone_of_a_node_that_is_started(tmp_path: Path) -> None:
    group = {"name": "auto", "cpu": "4", "zones": ["a", "b"], "startSeconds": 10}
    cluster = {"autoscaler": {"nodes": [group]}}
    in_b = {"topology.kubernetes.io/zone": "b"}
    found = kpis(written(tmp_path, cluster=cluster, arrivals=replicas((0, 2), nodeSelector=in_b)))

    assert (found["never_placed"], found["nodes_used"]) == (0, 1)


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(
            {"nodes": [{**NODE, "failures": {"meanSeconds": 20, "repairSeconds": 3600}}]},
            id="nodes come again that are too small",
        ),
        pytest.param(
            {"nodes": [NODE], "autoscaler": {"idleSeconds": 5, "nodes": [AUTO]}},
            id="nodes are started that the scheduler does not choose",
        ),
    ],
)
def test_a_run_ends_where_nodes_come_in_vain(tmp_path: Path, cluster: dict[str, Any]) -> None:
    """A pod of six cpu never fits; one of a taint that the autoscaler sees, but not its profile."""
    config = tmp_path / "picky.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {"
        "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
        "[{key: kubernetes.io/hostname, operator: In, values: [n-0, n-1]}]}]}}}\n"
    )
    too_large = replicas((0, 1), (5, 0), name="small", cpu="1")
    asked = "4" if "autoscaler" in cluster else "6"
    too_large["deployments"] += replicas((0, 3), cpu=asked)["deployments"]
    found = written(tmp_path, cluster=cluster, arrivals=too_large)

    result = run_scenario(found, read_candidates([str(config)])[0], 1)

    assert result.gave_up.endswith("and nothing will change that")


def test_a_run_ends_where_pods_are_tried_in_vain_for_ever(tmp_path: Path) -> None:
    """A plugin fails at each attempt, so none is without one: two minutes are enough."""
    (tmp_path / "bad.py").write_text(bad_plugins.source("filter", 'raise KeyError("zone")'))
    (tmp_path / "bad.yaml").write_text(bad_plugins.configuration("filter"))
    (bad,) = read_candidates([str(tmp_path / "bad.yaml")], [str(tmp_path / "bad.py")])

    result = run_scenario(written(tmp_path, arrivals=replicas((0, 2))), bad, 1)

    assert result.gave_up == "2 pods wait, and nothing will change that"
    assert 10 < result.kpis["attempts_per_pod"] < 20


@pytest.mark.parametrize(
    ("values", "most", "want"),
    [
        pytest.param([], 3, (), id="none"),
        pytest.param([3, 1, 2], 3, (1, 2, 3), id="as many as may be"),
        pytest.param([3, 1, 2, 4], 3, (1, 2, 4), id="one more"),
        pytest.param(range(9, -1, -1), 4, (0, 3, 6, 9), id="many"),
    ],
)
def test_of_many_values_an_even_sample_is_kept(
    values: Iterable[float], most: int, want: tuple[float, ...]
) -> None:
    assert even_sample(values, most) == want


@pytest.mark.parametrize(
    ("before", "urgent", "want", "never_placed"),
    [
        pytest.param(4, 0, "", 0, id="all run"),
        pytest.param(5, 0, "1 pod waits", 1, id="one never had a node"),
        pytest.param(4, 2, "2 pods wait (2 had a node and lost it)", 0, id="two were preempted"),
        pytest.param(5, 2, "3 pods wait (2 had a node and lost it)", 1, id="of each"),
    ],
)
def test_who_waits_at_the_end_is_told_as_it_is_counted(
    tmp_path: Path, before: int, urgent: int, want: str, never_placed: int
) -> None:
    """Two nodes take two pods each; a pod that was preempted was placed once."""
    arrivals = replicas((0, before))
    more = replicas((10, urgent), name="urgent", priority=10)
    arrivals["deployments"] += more["deployments"] if urgent else []
    result = run_scenario(written(tmp_path, arrivals=arrivals), KUBE, 1)

    assert result.gave_up == (f"{want}, and nothing will change that" if want else "")
    assert result.kpis["never_placed"] == never_placed


def test_a_node_that_is_to_be_replaced_is_waited_for(tmp_path: Path) -> None:
    """It is reclaimed after 100 s, goes 300 s later, and another is there 600 s after that."""
    more = replicas((0, 1), (120, 0), name="q", cpu="1")
    more["deployments"] += replicas((0, 1))["deployments"]
    cluster = spot(noticeSeconds=300, replaceSeconds=600)
    found = kpis(written(tmp_path, cluster=cluster, arrivals=more))

    assert (found["evictions"], found["makespan_s"]) == (2, pytest.approx(1000, abs=12))


def test_what_was_to_become_of_a_node_does_not_befall_the_next(tmp_path: Path) -> None:
    """Reclaimed at 100 and at 150 with 100 s of notice, it is lost once, and back at 200."""
    storms = [{"atSeconds": 100}, {"atSeconds": 150}]
    cluster = spot(storms=storms, noticeSeconds=100, replaceSeconds=0)
    found = kpis(written(tmp_path, cluster=cluster, arrivals=replicas((0, 1), (400, 0))))

    assert (found["evictions"], found["makespan_s"]) == (1, 400.0)


def test_a_kubelet_refuses_what_its_node_has_no_room_for(tmp_path: Path) -> None:
    config = tmp_path / "blind.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: NodeResourcesFit}]\n"
    )

    blind = read_candidates([str(config)])[0]
    found = written(tmp_path, arrivals=replicas((0, 5), (60, 0)))

    result = run_scenario(found, blind, 1)

    assert result.kpis["rejections"] > 0
    assert result.kpis["allocation_peak"]["cpu"] <= 1


def test_manifests_come_at_their_time_and_bound_pods_are_there(tmp_path: Path) -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "there", "annotations": {"moorage/runs-for": "50"}},
        "spec": {"nodeName": "n1", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]},
    }  # fmt: skip
    node = {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "annotations": {"moorage/price-per-hour": "7.2"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }  # fmt: skip
    late = {**pod, "metadata": {"name": "late"}, "spec": {"containers": pod["spec"]["containers"]}}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([node, pod]))
    (tmp_path / "late.yaml").write_text(yaml.safe_dump(late))
    found = kpis(
        written(
            tmp_path,
            cluster={"manifests": ["cluster.yaml"]},
            arrivals={"manifests": [{"files": ["late.yaml"], "atSeconds": 20, "runsSeconds": 50}]},
        )
    )

    assert found["wait_s"]["max"] == 30.0
    assert found["cost"] == pytest.approx(7.2 * 100 / 3600)


def test_a_manifest_whose_api_version_is_wrong_is_refused(tmp_path: Path) -> None:
    wrong = {"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "web"}}
    (tmp_path / "late.yaml").write_text(yaml.safe_dump(wrong))

    with pytest.raises(InputError, match="that of a Deployment is apps/v1"):
        written(tmp_path, arrivals={"manifests": [{"files": ["late.yaml"]}]})


def test_two_schedulers_share_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: other}]\n"
    )
    theirs = replicas((0, 1), name="theirs", schedulerName="other")["deployments"]
    arrivals = {"deployments": [*replicas((0, 1))["deployments"], *theirs]}

    assert kpis(written(tmp_path, arrivals=arrivals))["never_placed"] == 1
    both = written(tmp_path, arrivals=arrivals, schedulers=["other.yaml"])
    assert kpis(both)["never_placed"] == 0


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        pytest.param({"clutser": {}}, 'clutser: unknown field; did you mean "cluster"?', id="typo"),
        pytest.param({"cluster": {}}, "cluster: no nodes", id="no nodes"),
        pytest.param({"cluster": {"nodes": [{**NODE, "count": 0}]}}, "no nodes", id="0 nodes"),
        pytest.param({"cluster": {"nodes": [{**NODE, "count": 99999999999}]}},
                     "cluster.nodes[0].count", id="more nodes than are held"),
        pytest.param({"arrivals": replicas((0, 99999999999))},
                     "replicas", id="more pods than are held"),
        pytest.param({"arrivals": {}}, "arrivals: no pods", id="no pods"),
        pytest.param({"arrivals": replicas((-1, 1))}, "expected a number >= 0", id="before time"),
        pytest.param({"arrivals": replicas((0, 1), cpu="x")}, "is not a quantity", id="quantity"),
        pytest.param({"start": "soon"}, "not a time", id="start"),
        pytest.param({"arrivals": replicas((0, 1), runs={"meanSeconds": 5})},
                     "arrivals.deployments[0].pod.runs: has no effect", id="replicas that end"),
        pytest.param({"arrivals": replicas((0, 1), gang=3)},
                     "arrivals.deployments[0].pod.gang: has no effect", id="replicas in a gang"),
        pytest.param({"arrivals": {"cronJobs": [
                        {"schedule": "0 * * * *", "seconds": 9, "pod": {**POD, "gang": 2}}]}},
                     "arrivals.cronJobs[0].pod.gang: has no effect", id="a gang by cron"),
        pytest.param({"arrivals": replicas((0, 1), weight=3)},
                     "arrivals.deployments[0].pod.weight: has no effect", id="weighed replicas"),
        pytest.param({"arrivals": {"cronJobs": [
                        {"schedule": "0 * * * *", "seconds": 9, "pod": {**POD, "weight": 0.5}}]}},
                     "arrivals.cronJobs[0].pod.weight: has no effect", id="a weight by cron"),
        pytest.param({"cluster": {"autoscaler": {"nodes": [{**AUTO, "count": 1}]}}},
                     "cluster.autoscaler.nodes[0].count: has no effect: most is how many",
                     id="nodes of an autoscaler that are counted"),
        pytest.param({"arrivals": {"deployments": replicas((0, 1))["deployments"] * 2}},
                     "pod default/p-0 is there twice", id="two pods of one name"),
        pytest.param({"cluster": {"nodes": [NODE, {**NODE, "name": "n-1", "count": 1}]}},
                     "node n-1 is there twice", id="two nodes of one name"),
        pytest.param({"cluster": {"autoscaler": {"nodes": [
                        {**AUTO, "spot": {"storms": [{"atSeconds": 1}]}}]}}},
                     "cluster.autoscaler.nodes[0].spot.storms: strike nodes", id="storm"),
        pytest.param({"apiVersion": "v2"}, "Unsupported value", id="version"),
        pytest.param({"cluster": {"nodes": [{**NODE, "taints": ["a"]}]}},
                     "cluster.nodes[0].taints", id="taint"),
    ],
)  # fmt: skip
def test_faults_have_their_line(tmp_path: Path, parts: dict[str, Any], line: str) -> None:
    whole = {"arrivals": replicas((0, 1)), **parts}
    data = {"apiVersion": "moorage/v1", "kind": "Scenario", "cluster": {"nodes": [NODE]}, **whole}
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))

    told = CliRunner().invoke(main, ["simulate", str(file), "-o", "json"])

    assert told.exit_code == 2, told.output
    assert line in told.stderr
    assert "scenario.yaml" in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert told.stdout == ""
