"""What is told is written as it was then, takes little room, and is read by later Moorages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.api.cluster_objects import ConfigMap, Namespace
from moorage.api.meta import ObjectMeta
from moorage.bench import workload_kinds
from moorage.recording.entries import Began, Noted, ObjectPut, PodPut, Snapshot
from moorage.recording.journal import Journal
from moorage.recording.recorder import Recorder
from moorage.recording.retention import Retention
from moorage.recording.segments import Recording, SegmentWriter, segments_in
from tests.unit.recording.mixed_cluster import record


def test_what_changes_after_it_was_told_is_written_as_it_was(tmp_path: Path) -> None:
    made = Journal(SegmentWriter(tmp_path / "made"), pytest.fail)
    value = ["a"]
    made.write(Noted("being evicted", "default-scheduler", value))
    value.append("b")
    made.close()

    (found,) = Recording(tmp_path / "made").entries()
    assert found == Noted("being evicted", "default-scheduler", ["a"])


@pytest.mark.parametrize("kind", ["basic", "varied", "spread", "antiaffinity"])
def test_a_bound_pod_takes_less_than_a_kilobyte(tmp_path: Path, kind: str) -> None:
    nodes = [raw("Node", workload_kinds.raw_node(kind, each)) for each in range(20)]
    pods = [raw("Pod", workload_kinds.raw_pod(kind, each)) for each in range(100)]
    record(tmp_path / "made", nodes + pods)

    found = Recording(tmp_path / "made").entries()
    assert sum(isinstance(each, PodPut) for each in found) == 100
    size = sum(file.stat().st_size for file in segments_in(tmp_path / "made"))
    assert size < 100 * 1024


def raw(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **given}


def test_config_maps_are_never_told() -> None:
    told: list[Any] = []
    recorder = Recorder(told.append, lambda: 1.0)
    recorder.cache.objects.put(ConfigMap(metadata=ObjectMeta(name="passwords")))
    recorder.cache.objects.put(Namespace(metadata=ObjectMeta(name="seen")))

    (put,) = (each for each in told if isinstance(each, ObjectPut))
    assert put.kind == "Namespace"
    assert b"passwords" not in msgspec.msgpack.encode(told)


class FullDisk(SegmentWriter):
    """A disk without room."""

    def write(self, content: bytes) -> None:
        raise OSError(28, "No space left on device")


def test_nothing_waits_for_a_disk_that_has_failed(tmp_path: Path) -> None:
    heard: list[str] = []
    made = Journal(FullDisk(tmp_path / "made"), heard.append, frame_bytes=1)
    for name in "abc":
        made.write(Noted("being evicted", "default-scheduler", [name]))
    assert made.waiting == 3
    made.close()

    assert made.waiting == 0
    (why,) = heard
    assert "No space left on device" in why


class Broken(SegmentWriter):
    """A writer with a fault of its own."""

    def write(self, content: bytes) -> None:
        raise KeyError("where")


def broken(folder: Path, heard: list[str]) -> Journal:
    return Journal(Broken(folder), heard.append, frame_bytes=1)


def after_a_rollback(folder: Path, heard: list[str]) -> Journal:
    """Where a newer Moorage has recorded, what is too much cannot be judged by this one."""
    folder.mkdir()
    for number in (1, 2):
        (folder / f"segment-{number:06}.moorage").write_bytes(b"moorage recording 99\n" + bytes(64))
    return Journal(SegmentWriter(folder), heard.append, kept=Retention(size=10))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        pytest.param(broken, "KeyError: 'where'", id="a fault of ours"),
        pytest.param(after_a_rollback, "format 99 is newer", id="a rollback"),
    ],
)
def test_whatever_ends_a_recording_is_told_and_nothing_waits_for_it(
    tmp_path: Path, made: Callable[[Path, list[str]], Journal], why: str
) -> None:
    heard: list[str] = []
    journal = made(tmp_path / "made", heard)
    journal.write(Snapshot((Began(1.0),)))
    assert journal.waiting
    journal.close()

    (told,) = heard
    assert why in told
    assert "recording has ended, and scheduling goes on" in told
    journal.write(Began(2.0))
    assert journal.waiting == 0
