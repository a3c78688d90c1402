"""Writes log lines to a stream in a thread of its own.

`put` takes a fraction of a microsecond and never waits, neither for a slow reader of the stream nor
for the line to be formatted. If the reader falls too far behind, new lines are dropped and counted,
and the log says how many.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TextIO

BACKLOG: Final = 100_000
GATHER_SECONDS: Final = 0.05
"""How long lines are gathered before they are written together."""
DROPPED: Final = "{} lines of the log were dropped: the reader is too slow\n"

_Line = tuple[Callable[[Any], str], Any]


class LogWriter:
    """Formats and writes lines, in the order they were put."""

    def __init__(self, stream: TextIO, backlog: int = BACKLOG) -> None:
        self.dropped = 0
        self._told = 0
        self._stream = stream
        self._room = backlog
        self._lines: deque[_Line] = deque()
        self._something = threading.Event()
        self._closed = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def put(self, compose: Callable[[Any], str], item: Any) -> None:
        """Have `compose(item)` called and written by the thread soon."""
        if len(self._lines) >= self._room:
            self.dropped += 1
            return
        self._lines.append((compose, item))
        if not self._something.is_set():
            self._something.set()

    def flush(self) -> None:
        """Write everything put so far."""
        with self._writing:
            self._write()

    def close(self) -> None:
        """Write everything, and end the thread."""
        self._closed.set()
        self._something.set()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._something.wait()
            self._closed.wait(GATHER_SECONDS)
            self._something.clear()
            self.flush()

    def _write(self) -> None:
        lines = [self._compose(*self._lines.popleft()) for _ in range(len(self._lines))]
        if self.dropped > self._told:
            lines.append(DROPPED.format(self.dropped - self._told))
            self._told = self.dropped
        try:
            self._stream.write("".join(lines))
            self._stream.flush()
        except (OSError, ValueError):  # the stream is closed
            self.dropped += len(lines)
            self._told = self.dropped

    def _compose(self, compose: Callable[[Any], str], item: Any) -> str:
        try:
            return compose(item)
        except Exception as error:  # a line that cannot be formatted must not end the log
            return f"{time.time():.3f} a line of the log could not be composed: {error!r}\n"
