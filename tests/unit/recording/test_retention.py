"""Old files of a recording are removed, and what is left is replayed as it was."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.config.field_errors import InputError
from moorage.recording.entries import Attempt, Began, Clock, Entry, Snapshot
from moorage.recording.journal import Journal
from moorage.recording.play import Player
from moorage.recording.retention import PARTS, SEGMENT_BYTES, Retention, Rotation
from moorage.recording.segments import Recording, SegmentWriter, begins_whole, segments_in
from tests.unit.recording.mixed_cluster import DEFAULT, PRIVATE, gang, node, pod, record


class Often(Rotation):
    """A new file is due again and again."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked = 0

    @property
    def due(self) -> bool:
        self._asked += 1
        return self._asked % 20 == 0

    @due.setter
    def due(self, due: bool) -> None:
        pass


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of many files, with gangs, evictions and pods that wait among what happened."""
    return record(tmp_path_factory.mktemp("recordings") / "rotated", rotation=Often()).folder


def ids(folder: Path) -> list[str]:
    return [each.id for each in Recording(folder).entries() if isinstance(each, Attempt)]


def test_read_as_a_whole_snapshots_change_nothing(rotated: Path) -> None:
    played = Player(rotated).play()

    assert played.divergence is None
    assert len(segments_in(rotated)) > 8
    assert sum(isinstance(each, Began) for each in Recording(rotated).entries()) == 1


def test_without_its_first_files_the_rest_is_the_same(rotated: Path, tmp_path: Path) -> None:
    whole = ids(rotated)
    for count in range(1, len(segments_in(rotated))):
        folder = tmp_path / str(count)
        shutil.copytree(rotated, folder)
        for file in segments_in(folder)[:count]:
            file.unlink()

        played = Player(folder).play()

        assert played.divergence is None, f"without the first {count} files"
        assert ids(folder) == whole[len(whole) - played.attempts :]


def test_after_a_torn_file_it_goes_on_with_the_next_snapshot(rotated: Path, tmp_path: Path) -> None:
    folder = tmp_path / "torn"
    shutil.copytree(rotated, folder)
    second = segments_in(folder)[1]
    second.write_bytes(second.read_bytes()[:-3])

    played = Player(folder).play()

    assert played.divergence is None
    assert len(played.torn) == 1
    assert ids(folder)[-1] == ids(rotated)[-1]


def test_snapshots_hold_no_secrets(rotated: Path) -> None:
    assert all(PRIVATE.encode() not in frame for frame in Recording(rotated).frames())


def written(folder: Path, *files: tuple[Entry, ...]) -> None:
    for entries in files:
        writer = SegmentWriter(folder)
        made = Journal(writer, pytest.fail)
        for entry in entries:
            made.write(entry)
        made.close()


WHOLE = (Snapshot((Began(1.0),)), Clock(2.0))
PARTIAL = (Clock(3.0),)


def test_what_is_too_much_goes_up_to_a_file_that_begins_whole(tmp_path: Path) -> None:
    written(tmp_path, (Began(0.0),), WHOLE, PARTIAL, WHOLE, WHOLE)
    files = segments_in(tmp_path)
    room = sum(file.stat().st_size for file in files[2:])

    assert [begins_whole(each) for each in files] == [True, True, False, True, True]
    assert Retention(size=room).prune(tmp_path, 0.0) == files[:3]
    assert segments_in(tmp_path) == files[3:]
    assert Retention(size=1).prune(tmp_path, 0.0) == files[3:4], "the last one stays"


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    written(tmp_path, (Began(0.0),), WHOLE, WHOLE)
    files = segments_in(tmp_path)
    for number, file in enumerate(files):
        os.utime(file, (1000.0 + number, 1000.0 + number))

    assert Retention(seconds=100.0).prune(tmp_path, 1100.5) == files[:1]
    assert Retention().prune(tmp_path, 9e9) == []


def test_files_are_as_large_as_what_is_kept_allows() -> None:
    assert not Retention().is_due(SEGMENT_BYTES - 1, 1e9)
    assert Retention().is_due(SEGMENT_BYTES, 0.0)
    assert Retention(size=PARTS * 1000).is_due(1000, 0.0)
    assert Retention(seconds=PARTS * 60.0).is_due(0, 60.0)


def test_a_snapshot_begins_a_file_and_old_ones_go(tmp_path: Path) -> None:
    made = Journal(SegmentWriter(tmp_path), pytest.fail, kept=Retention(size=100))
    for number in range(5):
        made.write(Snapshot((Began(float(number)),)))
        made.write(Clock(float(number)))
    made.close()

    (*_, last) = Recording(tmp_path).entries()
    assert last == Clock(4.0)
    assert 1 <= len(segments_in(tmp_path)) < 4
    assert made.rotation.due, "the next file is asked for"


@pytest.mark.parametrize("keep", ["much", "-1h", "10GiBB", "0"])
def test_neither_a_size_nor_a_time(tmp_path: Path, keep: str) -> None:
    command = ["simulate", "examples/demo/cluster", "--record", str(tmp_path / "made")]
    ran = CliRunner().invoke(main, [*command, "--record-keep", keep])

    assert ran.exit_code == 2
    assert "write a size, as 10GiB" in ran.output


def test_options_of_no_recording() -> None:
    from moorage.cli.record_options import RecordTo

    for given in (RecordTo(anonymize=True), RecordTo(keep="1h")):
        with pytest.raises(InputError, match="--record DIR"):
            given.check()
    assert RecordTo("made", keep="10GiB").retention() == Retention(size=10 << 30)
    assert RecordTo("made", keep="36h").retention() == Retention(seconds=36 * 3600.0)


SAMPLED = (
    DEFAULT
    + """
percentageOfNodesToScore: 40
"""
)


def test_pods_and_gangs_walk_on_from_where_the_last_attempt_stopped(tmp_path: Path) -> None:
    """With percentageOfNodesToScore; also in a replay of the last files alone."""
    objects = [node(each) for each in range(120)]
    for turn in range(6):
        objects += [pod(f"plain{turn}-{each}") for each in range(4)] + gang(f"train{turn}", 3)
    folder = record(tmp_path / "whole", objects, SAMPLED, rotation=Often()).folder
    attempts = [each for each in Recording(folder).entries() if isinstance(each, Attempt)]
    assert {each.makes_room for each in attempts} == {True, False}, "gangs make no room"

    whole = Player(folder).play()
    assert whole.divergence is None
    assert whole.attempts == len(attempts)
    first, *rest = segments_in(folder)
    assert rest
    for file in (first, *rest[:-1]):
        file.unlink()
        played = Player(folder).play()
        assert played.divergence is None
