"""Traces of others: openb, Philly, and tables with columns of their own."""

from datetime import datetime
from pathlib import Path

import pytest

from moorage.config.field_errors import InputError
from moorage.simulate import trace_formats
from moorage.simulate.cron_schedule import CronSchedule
from moorage.simulate.pod_template import GPU, GPU_MILLI
from moorage.simulate.scenario_schema import TableFile, Trace
from moorage.simulate.trace_files import read_pods

OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
deletion_time,scheduled_time
b,6000,12288,1,460,,LS,Running,100,400,100
a,12000,16384,2,1000,P100|T4,BE,Running,0,50,0
c,1000,1024,0,0,,LS,Running,7,,7
"""
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,2,P100\n"


def test_openb_pods_and_nodes(tmp_path: Path) -> None:
    (tmp_path / "pods.csv").write_text(OPENB)
    (tmp_path / "nodes.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,2,P100\n"
    )
    trace = trace_formats.OpenbTrace(Trace(file=""), str(tmp_path / "pods.csv"), 2000)
    table = TableFile(file="", format="openb")

    a, c, b = trace.arrivals(1)
    node = trace_formats.read_cluster(table, str(tmp_path / "nodes.csv"), shares_gpus=True)[0].node

    assert (a.time, a.duration, b.duration, c.duration) == (0, 50, 300, None)
    assert a.template.requests[GPU] == 2
    assert b.template.requests[GPU_MILLI] == 460
    assert GPU not in b.template.requests
    assert GPU_MILLI not in c.template.requests
    assert node.status.allocatable[GPU_MILLI] == "2000"


def test_the_published_protocol_draws_pods_until_there_are_enough(tmp_path: Path) -> None:
    (tmp_path / "pods.csv").write_text(OPENB)
    trace = trace_formats.OpenbTrace(
        Trace(file="", protocol="fgd", load=1.3), str(tmp_path / "pods.csv"), 10_000
    )

    found = trace.arrivals(1)
    asked = sum(pod.template.requests.get(GPU_MILLI, 0) for pod in found)

    assert 11_000 < asked <= 13_000
    assert [pod.time for pod in found] == [float(i) for i in range(len(found))]
    assert {pod.duration for pod in found} == {None}
    assert [p.name for p in trace.arrivals(2)] != [p.name for p in found]


def test_a_philly_job_is_a_gang_of_pods_with_eight_gpus(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 00:00:10,60,20,1200,abc\n2017-10-09 00:00:05,30,1,30,abc\n"
        "2017-10-08 00:00:00,1,1,1,abc\n2017-10-10 00:00:00,1,1,1,abc\n"
    )
    trace = Trace(file="", format="philly", start="2017-10-09", seconds=3600)

    one, *gang = trace_formats.read_philly(trace, str(file))

    assert (one.time, one.group, one.template.namespace) == (5.0, "", "vc-abc")
    assert [pod.template.requests[GPU] for pod in gang] == [8, 8, 4]
    assert {(pod.group, pod.min_member, pod.duration) for pod in gang} == {("job-0", 3, 60.0)}
    assert gang[0].template.requests["cpu"] == 32_000


def test_a_table_with_its_own_columns(tmp_path: Path) -> None:

    file = tmp_path / "jobs.csv"
    file.write_text("job,submit,cores,user\nx,5,2,me\n")

    (pod,) = read_pods(str(file), {"name": "job", "arrival_s": "submit", "cpu": "cores"})

    assert (pod.name, pod.time, pod.template.requests) == ("x", 5.0, {"cpu": 2000.0})
    with pytest.raises(InputError, match="no column 'sumbit'; did you mean \"submit\""):
        read_pods(str(file), {"arrival_s": "sumbit"})


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'moorage[parquet]'")
    from pyarrow import parquet

    file = tmp_path / "pods.parquet"
    columns = {"name": ["p"], "arrival_s": [1.5], "cpu": ["2"], "duration_s": [None]}
    parquet.write_table(pyarrow.table(columns), file)

    (pod,) = read_pods(str(file))

    assert (pod.name, pod.time, pod.duration) == ("p", 1.5, None)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0 * * * *", [0, 3600, 7200]),
        ("*/30 1 * * *", [3600, 5400]),
        ("15,45 0-1 * * *", [900, 2700, 4500, 6300]),
        ("@daily", [0]),
        ("0 0 * * 1", [0]),
        ("0 0 * * 2", []),
        ("0 2 5 1 *", [7200]),
    ],
)
def test_schedules(text: str, times: list[int]) -> None:

    monday = datetime(2026, 1, 5)

    assert list(CronSchedule(text).times(monday, 3 * 3600)) == times


@pytest.mark.parametrize("text", ["* * * *", "60 * * * *", "x * * * *", "5-1 * * * *"])
def test_no_schedules(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        CronSchedule(text)
