"""The log never holds anybody up, and loses nothing without saying so."""

import io
import threading
from collections.abc import Iterator

import pytest

from moorage.observe import log_writer
from moorage.observe.log_writer import LogWriter


class Slow(io.StringIO):
    """A stream whose reader takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.let_go = threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        self.let_go.wait(10)
        return super().write(text)


class Broken(io.StringIO):
    """A stream nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def writer(stream: io.StringIO) -> Iterator[LogWriter]:
    writer = LogWriter(stream)
    yield writer
    writer.close()


def test_lines_are_written_in_the_order_they_were_put(
    writer: LogWriter, stream: io.StringIO
) -> None:
    for number in range(3):
        writer.put(lambda n: f"line {n}\n", number)
    writer.flush()

    assert stream.getvalue() == "line 0\nline 1\nline 2\n"


def test_closing_writes_what_is_left() -> None:
    stream = io.StringIO()
    writer = LogWriter(stream)
    writer.put(str, "the last word\n")
    writer.close()

    assert stream.getvalue() == "the last word\n"


def test_a_slow_reader_holds_nobody_up_and_what_is_dropped_is_told() -> None:
    slow = Slow()
    writer = LogWriter(slow, backlog=2)
    writer.put(str, "first\n")
    assert slow.reached.wait(10)
    for _ in range(5):
        writer.put(str, "more\n")

    assert writer.dropped == 3
    slow.let_go.set()
    writer.close()
    assert slow.getvalue() == "first\nmore\nmore\n" + log_writer.DROPPED.format(3)


def test_a_line_that_cannot_be_composed_does_not_end_the_log(
    writer: LogWriter, stream: io.StringIO
) -> None:
    writer.put(lambda _: str(1 / 0), None)
    writer.put(str, "next\n")
    writer.flush()

    first, second = stream.getvalue().splitlines()
    assert "could not be composed: ZeroDivisionError" in first
    assert second == "next"


def test_a_stream_nobody_reads_is_no_reason_to_fail() -> None:
    writer = LogWriter(Broken())
    writer.put(str, "unheard\n")
    writer.close()

    assert writer.dropped == 1
