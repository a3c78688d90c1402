"""The journal: the scheduler hands over entries, and a separate thread writes them."""

import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from moorage.config.field_errors import InputError
from moorage.recording.entries import Entry, Snapshot, encode
from moorage.recording.retention import Retention, Rotation
from moorage.recording.segments import Compressor, SegmentWriter, segments_in

FRAME_BYTES: Final = 128 << 10
"""The size of a frame: entries of about so many bytes are compressed together."""
COPY_FRAME_BYTES: Final = 1 << 20
"""The size of a frame of a copy, which no scheduler waits for."""
FLUSH_SECONDS: Final = 1.0
"""An entry is written at most this many seconds after it was handed over."""
FULL: Final = 5_000
"""This many waiting entries are written at once, without waiting for FLUSH_SECONDS."""
MOST_WAITING: Final = 1 << 20
"""Recording ends when more entries than this wait for a slow disk."""

SLOW_DISK: Final = "{} entries wait for the disk"
ENDED: Final = (
    "{folder}: {why}: recording has ended, and scheduling goes on without it; what is there can be "
    "replayed; make room and restart to record on"
)
ALL: Final = Retention()
THREAD: Final = "recording"
"""The name of a journal's own thread."""
NEW_FILE: Final = b""
"""A mark among the waiting entries: the next one begins another file."""
_LOOK_SECONDS: Final = 0.05
_ARRAY: Final = struct.Struct(">BI")
"""The head of a MessagePack array of any length."""


class Journal:
    """Writes entries in order; an error ends the recording, and nothing else.

    `write` encodes an entry at once, and only its bytes are kept until they are written. The
    journal's own thread compresses and writes them, mostly without the interpreter's lock. If
    recording ends early, `failed` is called once, on that thread, with the reason.
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
        """Says when the recorder must write a snapshot, which begins a new file."""
        self._begun = time.monotonic()
        self._frame_bytes = frame_bytes
        self._compressor = Compressor()
        self._failed = failed
        self._waiting: deque[bytes] = deque()
        self._closing = threading.Event()
        self._flushed = time.monotonic()
        self.trouble = ""
        self.entries = 0
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """Bytes on the disk."""
        return self._writer.written

    def write(self, entry: Entry) -> None:
        """Hand over an entry; a snapshot begins another file. Ignored once recording has ended."""
        if self.trouble:
            return
        if type(entry) is Snapshot:
            self._waiting.extend((NEW_FILE, encode(entry)))  # both at once: the thread may look
        else:
            self._waiting.append(encode(entry))

    @property
    def waiting(self) -> int:
        """The number of entries that the thread has not taken yet."""
        return len(self._waiting)

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
        """Call `step`; after the first error, whatever it is, all waiting entries are dropped."""
        try:
            step()
        except Exception as error:
            if not self.trouble:
                self._give_up(_reason(error))
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
        frame = self._take_frame()
        self.entries += len(frame)
        self._writer.write(self._compressor.compress(as_frame(frame)))
        if self._kept.is_due(self._writer.size, time.monotonic() - self._begun):
            self.rotation.due = True

    def _take_frame(self) -> list[bytes]:
        """Take the entries of one frame; starts a new file at a NEW_FILE mark."""
        waiting, frame, size = self._waiting, list[bytes](), 0
        while waiting and size < self._frame_bytes:
            entry = waiting.popleft()
            if entry:
                frame.append(entry)
                size += len(entry)
            elif frame:
                waiting.appendleft(entry)
                break
            else:
                self._begin_file()
        return frame

    def _begin_file(self) -> None:
        self._begun = time.monotonic()
        self._writer.rotate()
        self._kept.prune(self._writer.folder, time.time())

    def _give_up(self, why: str) -> None:
        self.trouble = ENDED.format(folder=self._writer.folder, why=why)
        self._failed(self.trouble)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def as_frame(entries: Sequence[bytes]) -> bytes:
    """Entries as a MessagePack array of them."""
    return b"".join((_ARRAY.pack(0xDD, len(entries)), *entries))


def write_recording(folder: Path, entries: Iterable[Entry]) -> int:
    """Write a recording; returns the number of entries. Raises an InputError if one exists."""
    if folder.exists() and segments_in(folder):
        raise InputError([f"{folder}: holds a recording already; name a folder that is empty"])
    writer, compressor = SegmentWriter(folder), Compressor(level=9)
    frame, size, total = list[bytes](), 0, 0
    for entry in map(encode, entries):
        frame.append(entry)
        size, total = size + len(entry), total + 1
        if size >= COPY_FRAME_BYTES:
            writer.write(compressor.compress(as_frame(frame)))
            frame, size = [], 0
    if frame:
        writer.write(compressor.compress(as_frame(frame)))
    writer.close()
    return total
