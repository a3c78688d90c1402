"""The journal: entries are handed over by the scheduler, and written by a thread beside it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from moorage.config.field_errors import InputError
from moorage.recording.entries import Entry, Snapshot, encode_into
from moorage.recording.retention import Retention, Rotation
from moorage.recording.segments import Compressor, SegmentWriter, segments_in

FRAME_BYTES: Final = 128 << 10
"""Entries of about so many bytes are compressed together."""
COPY_FRAME_BYTES: Final = 1 << 20
"""The same, where nobody waits."""
FLUSH_SECONDS: Final = 1.0
"""An entry is written no later than that."""
FULL: Final = 5_000
"""So many entries are written sooner."""
MOST_WAITING: Final = 1 << 20
"""How many entries may wait for a disk that does not keep up, before recording ends."""

SLOW_DISK: Final = (
    "{} entries wait for the disk: recording has ended, and scheduling goes on without it"
)
ALL: Final = Retention()
_LOOK_SECONDS: Final = 0.05


class Journal:
    """Writes what it is handed, in order; whatever goes wrong ends the recording, nothing else.

    An entry is encoded by the journal's own thread, a moment after it was handed over: what it
    holds must not be changed any more. `failed` hears why recording ended, once, on that thread.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        failed: Callable[[str], None],
        frame_bytes: int = FRAME_BYTES,
        kept: Retention = ALL,
    ) -> None:
        self._writer = writer
        self._kept = kept
        self.rotation = Rotation()
        """Where the recorder is asked for a snapshot, with which a new file is begun."""
        self._begun = time.monotonic()
        self._frame_bytes = frame_bytes
        self._compressor = Compressor()
        self._failed = failed
        self._waiting: deque[Entry] = deque()
        self.write: Callable[[Entry], None] = self._waiting.append
        """Take an entry."""
        self._closing = threading.Event()
        self._flushed = time.monotonic()
        self.trouble = ""
        self.entries = 0
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """Bytes on the disk."""
        return self._writer.written

    def close(self) -> None:
        """Write everything; returns when it is on the disk."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(_LOOK_SECONDS):
            self._try(self._write_when_due)
        self._try(self._write_all)
        self._try(self._writer.close)

    def _try(self, step: Callable[[], None]) -> None:
        """Take a step; once something went wrong, whatever is handed over is dropped."""
        try:
            step()
        except OSError as error:
            if not self.trouble:
                self._give_up(f"{error.strerror or error}: recording has ended")
        if self.trouble:
            self._waiting.clear()

    def _write_when_due(self) -> None:
        count = len(self._waiting)
        if count > MOST_WAITING:
            self._give_up(SLOW_DISK.format(count))
        elif count >= FULL or time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flushed = time.monotonic()
            self._write_all()

    def _write_all(self) -> None:
        while self._waiting and not self.trouble:
            self._write_frame()

    def _write_frame(self) -> None:
        content, count = bytearray(FRAME_HEAD), 0
        waiting = self._waiting
        while waiting and len(content) < self._frame_bytes:
            if type(waiting[0]) is Snapshot:
                if count:
                    break
                self._begin_file()
            encode_into(waiting.popleft(), content, -1)
            count += 1
        self.entries += count
        self._writer.write(self._compressor.compress(as_frame(content, count)))
        if self._kept.is_due(self._writer.size, time.monotonic() - self._begun):
            self.rotation.due = True

    def _begin_file(self) -> None:
        self._begun = time.monotonic()
        self._writer.rotate()
        self._kept.prune(self._writer.folder, time.time())

    def _give_up(self, why: str) -> None:
        self.trouble = why
        self._failed(why)


FRAME_HEAD: Final = b"\xdd\0\0\0\0"
"""A MessagePack array, whose length is not known yet."""


def as_frame(content: bytearray, count: int) -> bytearray:
    """A MessagePack array of entries, from its head and so many entries."""
    content[1:5] = count.to_bytes(4, "big")
    return content


def write_recording(folder: Path, entries: Iterable[Entry]) -> int:
    """Write entries as a recording; how many they were. InputError where there is one already."""
    if folder.exists() and segments_in(folder):
        raise InputError([f"{folder}: holds a recording already; name a folder that is empty"])
    writer, compressor = SegmentWriter(folder), Compressor(level=9)
    content, count, total = bytearray(FRAME_HEAD), 0, 0
    for entry in entries:
        encode_into(entry, content, -1)
        count += 1
        if len(content) >= COPY_FRAME_BYTES:
            writer.write(compressor.compress(as_frame(content, count)))
            content, count, total = bytearray(FRAME_HEAD), 0, total + count
    if count:
        writer.write(compressor.compress(as_frame(content, count)))
    writer.close()
    return total + count
