"""Recordings that were cut short are read up to the cut, and that is said."""

import random
import shutil
import struct
import zlib
from pathlib import Path

import pytest
import zstandard

from moorage.config.field_errors import InputError
from moorage.recording.entries import Attempt, Clock
from moorage.recording.journal import Journal
from moorage.recording.play import Player
from moorage.recording.segments import Compressor, Recording, SegmentWriter, segments_in
from tests.unit.recording.mixed_cluster import node, pod, record


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of many small frames."""
    folder = tmp_path_factory.mktemp("recordings") / "framed"
    objects = [node(each) for each in range(3)] + [pod(f"web-{each}") for each in range(25)]
    record(folder, objects, frame_bytes=500)
    return folder


def test_fifty_recordings_cut_at_random_bytes_are_replayed_up_to_the_cut(
    framed: Path, tmp_path: Path
) -> None:
    (file,) = segments_in(framed)
    whole, dice = file.read_bytes(), random.Random(3)
    lengths, said = set(), 0
    for cut in sorted(dice.sample(range(len(whole)), 50)):
        folder = tmp_path / f"cut-{cut}"
        shutil.copytree(framed, folder)
        (folder / file.name).write_bytes(whole[:cut])

        played = Player(folder).play()

        assert played.divergence is None
        lengths.add(played.attempts)
        said += bool(played.torn)
    assert said >= 45, "only a cut between two frames goes unnoticed"
    assert len(lengths) > 5, "the later the cut, the more is replayed"


def test_a_byte_that_was_changed_ends_the_recording_there(framed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(framed, folder)
    (file,) = segments_in(folder)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))

    played = Player(folder).play()

    assert played.divergence is None
    (torn,) = played.torn
    assert "checksum" in torn or "cut off" in torn


def test_segments_are_rotated_and_read_in_order(tmp_path: Path) -> None:
    made = Journal(SegmentWriter(tmp_path / "rotated", most=2000), pytest.fail, frame_bytes=1000)
    for now in range(30_000):
        made.write(Clock(float(now)))
    made.close()

    assert len(segments_in(tmp_path / "rotated")) > 1
    found = list(Recording(tmp_path / "rotated").entries())
    assert found == [Clock(float(now)) for now in range(30_000)]


def test_a_process_that_begins_again_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    folder, objects = tmp_path / "made", [node(1), *(pod(f"web-{each}") for each in range(5))]
    record(folder, objects)
    (first,) = segments_in(folder)
    content = first.read_bytes()
    first.write_bytes(content[:-20])
    record(folder, objects)

    player = Player(folder)
    played = player.play()

    assert len(segments_in(folder)) == 2
    assert played.divergence is None
    assert len(played.torn) == 1
    assert played.attempts == 5, "the first run has lost its only frame"
    assert len(player.replay.pods) == 5, "what was believed before is not believed any more"


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(InputError, match="holds other files"):
        SegmentWriter(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"something else\n", "not a recording", id="another file"),
        pytest.param(b"moorage recording 999\n", "newer", id="a later format"),
        pytest.param(b"moorage recording 2\n", "older", id="an earlier format"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "segment-000001.moorage").write_bytes(content)

    with pytest.raises(InputError, match=said):
        list(Recording(tmp_path).entries())


def test_a_disk_that_fails_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    said: list[str] = []

    class Full(SegmentWriter):
        def write(self, content: bytes) -> None:
            raise OSError(28, "No space left on device")

    made = Journal(Full(tmp_path / "full"), said.append)
    made.write(Clock(1.0))
    made.close()
    made.write(Clock(2.0))

    assert said == [
        f"{tmp_path / 'full'}: No space left on device: recording has ended, and scheduling goes "
        "on without it; what is there can be replayed; make room and restart to record on"
    ]


def test_attempts_are_found_in_what_was_kept(framed: Path) -> None:
    assert sum(isinstance(each, Attempt) for each in Recording(framed).entries()) == 25


@pytest.mark.parametrize("sized", [True, False], ids=["a frame says it", "a frame keeps it back"])
def test_a_frame_that_holds_far_more_than_it_has_is_not_decompressed(
    tmp_path: Path, sized: bool
) -> None:
    """The 1.5 GB of which this would be made are never there: the head of the frame is read."""
    zeros = zstandard.ZstdCompressor().compressobj(size=100 << 20 if sized else -1)
    packed = b"".join(zeros.compress(bytes(1 << 20)) for _ in range(100)) + zeros.flush()
    frame = struct.pack("<II", len(packed), zlib.crc32(packed)) + packed
    (tmp_path / "segment-000001.moorage").write_bytes(b"moorage recording 3\n" + frame)
    assert len(packed) < 30_000

    with pytest.raises(InputError, match=f"a frame of {len(packed):,} bytes holds .* are read"):
        list(Recording(tmp_path).frames())


def test_a_frame_that_holds_a_whole_cluster_is_read(tmp_path: Path) -> None:
    """Pods that differ in nothing but their names, as many as make a frame of 9 MiB."""
    writer = SegmentWriter(tmp_path)
    like_others = b"{'name': 'web-%06d', 'cpu': '100m', 'memory': '64Mi'}"
    pods = b"".join(like_others % number for number in range(180_000))
    writer.write(Compressor().compress(pods))
    writer.close()

    (read,) = Recording(tmp_path).frames()
    assert len(read) > 9 << 20
    assert read == pods
