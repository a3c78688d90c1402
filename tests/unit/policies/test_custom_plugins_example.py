"""examples/custom-plugins: two plugins from a file, with arguments, beside a disabled PreScore."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.app import plugin_files
from moorage.app.built_in_plugins import describe_plugins
from moorage.cli.main import main
from moorage.config.loader import load
from moorage.framework.argument_names import yaml_name
from moorage.simulate import manifest_files, simulation

FOLDER = Path(__file__).parents[3] / "examples" / "custom-plugins"
TEXT = (FOLDER / "scheduler.yaml").read_text(encoding="utf-8")
KNOWN = plugin_files.load_plugins([str(FOLDER / "custom_plugins.py")])


def placed(text: str) -> Mapping[str, str]:
    loaded = load(text, known=describe_plugins(KNOWN))
    manifests = manifest_files.read_manifests([str(FOLDER / "cluster.yaml")])
    outcome = simulation.simulate(manifests, loaded.configuration, KNOWN)
    return {pod.name: pod.spec.node_name for pod in simulation.pods_of(outcome)}


def test_pods_are_placed_by_both_plugins() -> None:
    assert placed(TEXT) == {"training": "gpu-1", "web": "plain-1", "report": "gpu-1"}


def test_without_the_argument_the_roomier_node_wins() -> None:
    """So it is the argument that keeps the web pod off the GPU node."""
    off = TEXT.replace("enableGPUScheduling: true", "enableGPUScheduling: false")

    assert placed(off)["web"] == "gpu-1"


def test_the_plain_spelling_is_read_too() -> None:
    assert placed(TEXT.replace("enableGPU", "enableGpu"))["web"] == "plain-1"


@pytest.mark.parametrize("spelt", ["enablegpuScheduling", "enableGPUscheduling", "weightfactor"])
def test_other_spellings_are_refused(spelt: str) -> None:
    bad = TEXT.replace("enableGPUScheduling: true", f"{spelt}: 1")

    with pytest.raises(Exception, match=f"{spelt}: unknown field; did you mean"):
        load(bad, known=describe_plugins(KNOWN))


def test_check_warns_and_prints_kubernetes_spelling() -> None:
    files = [str(FOLDER / "scheduler.yaml"), "--plugin", str(FOLDER / "custom_plugins.py")]

    outcome = CliRunner().invoke(main, ["config", "check", *files])

    assert outcome.exit_code == 0
    assert "enableGPUScheduling: true" in outcome.stdout
    assert 'plugin "InterPodAffinity" is left out here' in outcome.stderr


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("gpu_weight", "gpuWeight"),
        ("reserve_gpu_nodes", "reserveGPUNodes"),
        ("max_gpus", "maxGPUs"),
        ("pod_qos", "podQoS"),
        ("max_latency_ms", "maxLatencyMs"),
    ],
)
def test_names_are_written_as_kubernetes_writes_them(field: str, written: str) -> None:
    assert yaml_name(field) == written
