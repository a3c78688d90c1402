"""A small cluster with pods of every sort, and a recording of how they were scheduled."""

from pathlib import Path
from typing import Any

from moorage.app import plugin_files
from moorage.app.config_bundle import ConfigBundle, load_bundle
from moorage.app.config_text import ConfigText
from moorage.recording.configuration import configured
from moorage.recording.journal import FRAME_BYTES, Journal
from moorage.recording.recorder import Recorder
from moorage.recording.retention import Rotation
from moorage.recording.segments import SegmentWriter
from moorage.scheduler.attempt import Tap
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import Simulation, simulate

Raw = dict[str, Any]
DEFAULT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
PRIVATE = "the-password-in-an-environment-variable"


def node(number: int) -> Raw:
    labels = {
        "kubernetes.io/hostname": f"node-{number:02}",
        "topology.kubernetes.io/zone": "abc"[number % 3],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number:02}", "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}},
    }


def pod(name: str, cpu: str = "300m", labels: dict[str, str] | None = None, **spec: Any) -> Raw:
    container = {
        "name": "main",
        "image": "registry.example/web:v1",
        "env": [{"name": "PASSWORD", "value": PRIVATE}],
        "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}},
    }
    applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"env": "{PRIVATE}"}}'}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": labels or {"app": name.partition("-")[0]},
            "annotations": applied,
        },
        "spec": {"containers": [container], **spec},
    }


def spread(app: str) -> Raw:
    selector = {"matchLabels": {"app": app}}
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return {"topologySpreadConstraints": [constraint]}


def apart(app: str) -> Raw:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}


def gang(name: str, size: int, cpu: str = "500m") -> list[Raw]:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": size},
    }
    labels = {"app": name, "scheduling.x-k8s.io/pod-group": name}
    return [group, *(pod(f"{name}-{each}", cpu, labels) for each in range(size))]


def workload(nodes: int = 9) -> list[Raw]:
    """Plain and varied pods, spread and kept apart, gangs, and some that must evict others."""
    found = [HIGH, *(node(each) for each in range(nodes))]
    found += [pod(f"plain-{each}") for each in range(12)]
    found += [pod(f"varied-{each}", f"{100 + 37 * each}m") for each in range(12)]
    found += [pod(f"spread-{each}", **spread("spread")) for each in range(7)]
    found += [pod(f"apart-{each}", **apart("apart")) for each in range(nodes + 1)]
    found += gang("train", 4) + gang("large", 30, "3")
    found += [pod(f"filler-{each}", "1500m", nodeName=f"node-{each:02}") for each in range(nodes)]
    found += [pod(f"urgent-{each}", "3", priorityClassName="high") for each in range(4)]
    return found


class Recorded:
    """A recording that was made."""

    def __init__(self, folder: Path, simulation: Simulation) -> None:
        self.folder = folder
        self.simulation = simulation


def record(
    folder: Path,
    objects: list[Raw] | None = None,
    text: str = DEFAULT,
    plugins: tuple[str, ...] = (),
    seed: int = 7,
    frame_bytes: int = FRAME_BYTES,
    rotation: Rotation | None = None,
) -> Recorded:
    """Schedule some objects on an embedded cluster, and record it."""
    known = plugin_files.load_plugins(plugins)
    bundle: ConfigBundle = load_bundle([ConfigText("scheduler.yaml", text.encode())], known)
    journal = Journal(SegmentWriter(folder), _fail, frame_bytes)

    def tap(now: Any) -> Tap:
        recorder = Recorder(journal.write, now, rotation)
        recorder.configured(configured(bundle, known, plugins))
        return recorder

    given = [Manifest(each, "", 0) for each in (workload() if objects is None else objects)]
    ran = simulate(given, bundle.configuration, known, seed, tap_of=tap)
    journal.close()
    return Recorded(folder, ran)


def _fail(why: str) -> None:
    raise AssertionError(why)
