"""The files of a recording: `segment-000001.moorage` and so on, in a folder of their own.

A segment begins with `moorage recording 2` and a newline, then holds frames:

    4 bytes   length of the content, little-endian
    4 bytes   CRC-32 of the content
    content   zstd of a MessagePack array of entries (`moorage.recording.entries`), with its size;
              at most 8 MiB, or a thousand times its compressed length

A frame is written by one call, so a crash leaves at most one torn frame, at the end of the last
segment. A reader drops it and reports it. Files have mode 0600 and their folder 0700, because
recordings are secret material.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from moorage.api.annotations import read_int
from moorage.config.field_errors import InputError
from moorage.recording.entries import FORMAT, AnyEntry, Began, Snapshot, decode_entries

MAGIC: Final = b"moorage recording "
SUFFIX: Final = ".moorage"
_HEAD: Final = struct.Struct("<II")
FRAME_BYTES: Final = 8 << 20
FRAME_RATIO: Final = 1_000
"""Names and uids of pods hardly compress, so that even the state of a cluster stays below it."""
MISSING: Final = "recordings are compressed with zstandard: pip install 'moorage[record]'"


class Torn(NamedTuple):
    """A place where a segment is torn or damaged."""

    file: Path
    position: int
    size: int
    why: str

    def __str__(self) -> str:
        lost = self.size - self.position
        return (
            f"{self.file.name}: {self.why} at byte {self.position}: its last {lost} bytes are "
            "dropped, and what came before is whole"
        )


class TooLarge(Exception):
    """A frame says that it holds more than any that Moorage writes."""

    def __init__(self, packed: int, size: int) -> None:
        held = f"{size:,} bytes" if size >= 0 else "an unknown number of bytes"
        super().__init__(
            f"a frame of {packed:,} bytes holds {held}: at most {FRAME_BYTES:,}, or "
            f"{FRAME_RATIO:,} times its length, are read"
        )


class Compressor:
    """zstd, both ways."""

    def __init__(self, level: int = 1) -> None:
        try:
            import zstandard
        except ImportError:
            raise InputError([MISSING]) from None
        self._error = zstandard.ZstdError
        self._size_of = zstandard.frame_content_size
        self._deflate = zstandard.ZstdCompressor(level=level, write_content_size=True)
        self._inflate = zstandard.ZstdDecompressor()

    def compress(self, content: bytes | bytearray) -> bytes:
        return self._deflate.compress(content)

    def decompress(self, content: bytes) -> bytes:
        """The content; ValueError if it is none, `TooLarge` if it is more than a frame may hold."""
        most = max(FRAME_BYTES, FRAME_RATIO * len(content))
        try:
            size = self._size_of(content)
            if not 0 <= size <= most:
                raise TooLarge(len(content), size)
            return self._inflate.decompress(content, max_output_size=most)
        except self._error as error:
            raise ValueError(str(error)) from None


class SegmentWriter:
    """Writes frames into files of about `most` bytes each, after the existing segments."""

    def __init__(self, folder: Path, most: int = 64 << 20) -> None:
        self._folder = folder
        self._most = most
        self._file: int | None = None
        self._number = _prepare_folder(folder)
        self._size = 0
        self.written = 0
        """Bytes of all segments that were written here."""

    def write(self, content: bytes) -> None:
        """Append one frame; the operating system has it when this returns."""
        if self._file is None or self._size >= self._most:
            self._open()
        assert self._file is not None
        frame = _HEAD.pack(len(content), zlib.crc32(content)) + content
        _write_whole(self._file, frame)
        self._size += len(frame)
        self.written += len(frame)

    def sync(self) -> None:
        """Wait until all written frames are on the disk."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        if self._file is not None:
            self.sync()
            os.close(self._file)
            self._file = None

    @property
    def size(self) -> int:
        """Bytes of the segment that is being written."""
        return self._size

    @property
    def folder(self) -> Path:
        return self._folder

    def rotate(self) -> None:
        """Begin a new segment."""
        if self._file is not None:
            self._open()

    def _open(self) -> None:
        self.close()
        self._number += 1
        file = self._folder / f"segment-{self._number:06}{SUFFIX}"
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        head = MAGIC + f"{FORMAT}\n".encode()
        _write_whole(self._file, head)
        self._size = len(head)
        self.written += len(head)


def _write_whole(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _prepare_folder(folder: Path) -> int:
    """Make the folder of a recording, for its owner alone; returns the last segment's number."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = segments_in(folder)
        if not found and any(folder.iterdir()):
            raise InputError([f"{folder}: holds other files; name a folder for recordings alone"])
        folder.chmod(0o700)
    except OSError as error:
        raise InputError([f"{folder}: {(error.strerror or str(error)).lower()}"]) from None
    return _number(found[-1]) if found else 0


def _number(segment: Path) -> int:
    digits = segment.stem.partition("-")[2]
    return read_int(digits) or 0


def segments_in(folder: Path) -> list[Path]:
    """The segments of a recording, in order."""
    return sorted(folder.glob(f"segment-*{SUFFIX}"))


class Recording:
    """Reads a recording, from its first frame to its last.

    After a torn frame, entries are skipped up to the next Began or Snapshot.
    """

    def __init__(self, folder: Path, files: Sequence[Path] = ()) -> None:
        self.folder = folder
        self.torn: list[Torn] = []
        """The torn places; complete once the recording has been read to its end."""
        self._segments = files or segments_in(folder)
        self._compressor = Compressor()
        if not self._segments:
            raise InputError([f"{folder}: there is no recording here"])

    def entries(self) -> Iterator[AnyEntry]:
        """Every entry, in order; a snapshot is expanded if earlier entries were not read."""
        seen, whole = 0, False
        for content in self.frames():
            found = decode_entries(content)
            if len(self.torn) > seen:
                seen, whole = len(self.torn), False
            first = found[0]
            if isinstance(first, Snapshot):
                found[:1] = () if whole else first.entries
                whole = True
            whole = whole or isinstance(first, Began) or not seen
            if whole:
                yield from found

    def frames(self) -> Iterator[bytes]:
        """Every frame, decompressed."""
        for file in self._segments:
            yield from self._frames_of(file)

    def _frames_of(self, file: Path) -> Iterator[bytes]:
        try:
            with open(file, "rb") as content:
                yield from self._frames_in(file, content)
        except OSError as error:
            raise InputError([f"{file}: {(error.strerror or str(error)).lower()}"]) from None

    def _frames_in(self, file: Path, content: BinaryIO) -> Iterator[bytes]:
        at = _after_head(file, content.read(64))
        if at is None:
            self._tear(file, 0, content, "the head of the file is cut off")
            return
        content.seek(at)
        while head := content.read(_HEAD.size):
            frame, why = self._frame(head, content)
            if frame is None:
                self._tear(file, at, content, why)
                return
            at = content.tell()
            yield frame

    def _tear(self, file: Path, at: int, content: BinaryIO, why: str) -> None:
        self.torn.append(Torn(file, at, content.seek(0, os.SEEK_END), why))

    def _frame(self, head: bytes, content: BinaryIO) -> tuple[bytes | None, str]:
        if len(head) < _HEAD.size:
            return None, "a frame is cut off"
        length, checksum = _HEAD.unpack(head)
        packed = content.read(length)
        if len(packed) < length:
            return None, "a frame is cut off"
        if zlib.crc32(packed) != checksum:
            return None, "a frame does not match its checksum"
        try:
            return self._compressor.decompress(packed), ""
        except ValueError:
            return None, "a frame does not decompress"
        except TooLarge as error:
            raise InputError([f"{self.folder}: {error}"]) from None


def begins_whole(file: Path) -> bool:
    """Whether a file can be read without the files before it."""
    first = next(Recording(file.parent, (file,)).entries(), None)
    return isinstance(first, Began)


def _after_head(file: Path, content: bytes) -> int | None:
    """The offset of the first frame; None if the file ends before it."""
    line, newline, _ = content[:64].partition(b"\n")
    if not newline and MAGIC.startswith(line[: len(MAGIC)]):
        return None
    version = line.removeprefix(MAGIC)
    if not line.startswith(MAGIC) or not version.isdigit():
        raise InputError([f"{file}: not a recording of Moorage"])
    if int(version) != FORMAT:
        age = "newer" if int(version) > FORMAT else "older"
        raise InputError(
            [f"{file}: format {int(version)} is {age} than this Moorage, which reads {FORMAT}"]
        )
    return len(line) + 1
