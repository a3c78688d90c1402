"""The journal: entries are handed over by the scheduler, and written by a thread beside it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from moorage.config.field_errors import InputError
from moorage.recording.entries import Entry, encode
from moorage.recording.segments import Compressor, SegmentWriter, segments_in

FRAME_BYTES: Final = 1 << 20
"""Entries of about so many bytes are compressed together."""
FLUSH_SECONDS: Final = 1.0
"""An entry is written no later than that."""
FULL: Final = 5_000
"""So many entries are written sooner."""
MOST_WAITING: Final = 1 << 20
"""How many entries may wait for a disk that does not keep up, before recording ends."""

SLOW_DISK: Final = (
    "{} entries wait for the disk: recording has ended, and scheduling goes on without it"
)
_LOOK_SECONDS: Final = 0.05


class Journal:
    """Writes what it is handed, in order; whatever goes wrong ends the recording, nothing else.

    `failed` hears why, once, on the journal's own thread.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        failed: Callable[[str], None],
        frame_bytes: int = FRAME_BYTES,
    ) -> None:
        self._writer = writer
        self._frame_bytes = frame_bytes
        self._compressor = Compressor()
        self._failed = failed
        self._waiting: deque[bytes] = deque()
        self._closing = threading.Event()
        self._flushed = time.monotonic()
        self.trouble = ""
        self.entries = 0
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Take an entry; it is encoded at once, so that nothing can change it any more."""
        if not self.trouble:
            self._waiting.append(encode(entry))

    @property
    def written(self) -> int:
        """Bytes on the disk."""
        return self._writer.written

    def close(self) -> None:
        """Write everything; returns when it is on the disk."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._closing.wait(_LOOK_SECONDS):
                self._write_when_due()
            self._write_all()
        except OSError as error:
            self._give_up(f"{error.strerror or error}: recording has ended")
        finally:
            self._close()

    def _write_when_due(self) -> None:
        waiting = self._waiting
        if self.trouble:
            waiting.clear()
        elif len(waiting) > MOST_WAITING:
            self._give_up(SLOW_DISK.format(len(waiting)))
        elif len(waiting) >= FULL or time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flushed = time.monotonic()
            self._write_all()

    def _write_all(self) -> None:
        while self._waiting:
            self._write_frame()

    def _write_frame(self) -> None:
        taken, size = list[bytes](), 0
        while self._waiting and size < self._frame_bytes:
            entry = self._waiting.popleft()
            taken.append(entry)
            size += len(entry)
        self.entries += len(taken)
        self._writer.write(self._compressor.compress(frame(taken)))

    def _give_up(self, why: str) -> None:
        self.trouble = why
        self._waiting.clear()
        self._failed(why)

    def _close(self) -> None:
        try:
            self._writer.close()
        except OSError as error:
            if not self.trouble:
                self._give_up(f"{error.strerror or error}: recording has ended")


def frame(entries: list[bytes]) -> bytes:
    """A MessagePack array of entries that are encoded already."""
    return b"\xdd" + len(entries).to_bytes(4, "big") + b"".join(entries)


def write_recording(folder: Path, entries: Iterable[Entry]) -> int:
    """Write entries as a recording; how many they were. InputError where there is one already."""
    if folder.exists() and segments_in(folder):
        raise InputError([f"{folder}: holds a recording already; name a folder that is empty"])
    writer, compressor = SegmentWriter(folder), Compressor(level=9)
    waiting, size, count = list[bytes](), 0, 0
    for entry in entries:
        encoded = encode(entry)
        waiting.append(encoded)
        size, count = size + len(encoded), count + 1
        if size >= FRAME_BYTES:
            writer.write(compressor.compress(frame(waiting)))
            waiting, size = [], 0
    if waiting:
        writer.write(compressor.compress(frame(waiting)))
    writer.close()
    return count
