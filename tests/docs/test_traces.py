"""Large traces stay outside: a page says where they are published, a benchmark what it lacks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_benchmark_without_its_trace_says_so_in_one_line(tmp_path: Path) -> None:
    def run() -> str:
        command = [sys.executable, "bench/gpu_table.py", "--traces", str(tmp_path)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        return line

    assert f"no openb_node_list_gpu_node.csv.gz and 4 more in {tmp_path}; docs/gpu.md" in run()
    (tmp_path / "openb_node_list_gpu_node.csv.gz").touch()
    assert "no openb_pod_list_default.csv.gz and 3 more in" in run()


def test_the_page_says_where_they_are_published() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8").split("### The traces")[1]

    for name in ("openb_node_list_gpu_node.csv.gz", "openb_pod_list_default.csv.gz", "philly_jobs"):
        assert f"`{name}" in page
    assert "hkust-adsl/kubernetes-scheduler-simulator" in page
