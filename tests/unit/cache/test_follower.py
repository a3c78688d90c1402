"""Followers: what a log has that was not taken in yet, or all anew."""

import logging
from collections.abc import Sequence

import pytest

from moorage.cache.follower import KEEP, Follower, RowLog

ALL = [100, 200]


def log_of(*entries: int) -> RowLog[int]:
    log: RowLog[int] = RowLog(name_of=lambda entry: f"node n{entry}")
    for entry in entries:
        log.append(entry)
    return log


def read(follower: Follower[int], log: RowLog[int]) -> Sequence[int] | None:
    """What the follower passes on."""
    return follower.read(log, lambda missed: missed)


def test_a_new_follower_takes_all_anew_and_then_what_it_missed() -> None:
    log, follower = log_of(1, 2), Follower[int]()

    assert follower.is_behind(log)
    assert follower.is_lost(log)
    assert read(follower, log) is None
    log.append(3)
    log.append(4)
    assert follower.is_behind(log)
    assert not follower.is_lost(log)
    assert read(follower, log) == [3, 4]
    assert not follower.is_behind(log)
    assert read(follower, log) == ()


def test_a_follower_of_a_log_begins_at_its_end() -> None:
    log = log_of(1, 2)
    follower = Follower(log)

    assert read(follower, log) == ()
    log.append(3)
    assert read(follower, log) == [3]


def test_a_follower_that_missed_too_much_takes_all_anew() -> None:
    log = log_of(1)
    follower = Follower(log)
    for entry in range(2 * KEEP + 1):
        log.append(entry)

    assert follower.is_lost(log)
    assert read(follower, log) is None
    assert read(follower, log) == ()


def test_everything_changed_at_once_is_all_anew() -> None:
    log = log_of(1)
    follower = Follower(log)
    log.restart()

    assert read(follower, log) is None


def test_the_log_of_another_table_is_all_anew_even_at_the_same_version() -> None:
    follower = Follower(log_of(1, 2))
    other = log_of(3, 4)

    assert follower.is_behind(other)
    assert follower.is_lost(other)
    assert read(follower, other) is None


def test_what_is_skipped_was_taken_in_and_what_is_forgotten_was_not() -> None:
    log = log_of(1)
    follower = Follower(log)
    log.append(2)
    follower.skip(log)
    assert read(follower, log) == ()

    follower.forget()
    assert follower.is_behind(log)
    assert read(follower, log) is None


class Reader:
    """Adds up entries; it cannot take negative ones."""

    def __init__(self) -> None:
        self.follower: Follower[int] = Follower()
        self.taken: list[int] = []

    def catch_up(self, log: RowLog[int]) -> list[int]:
        self.follower.apply(log, self.afresh, self.one)
        return self.taken

    def afresh(self) -> list[int]:
        self.taken.clear()
        return ALL

    def one(self, entry: int) -> None:
        if entry < 0:
            raise KeyError("id")
        self.taken.append(entry)


def test_each_entry_is_applied_once_or_all_afresh() -> None:
    log, reader = log_of(1, 2), Reader()
    assert reader.catch_up(log) == ALL

    log.append(3)
    log.append(4)
    assert reader.catch_up(log) == [*ALL, 3, 4]
    assert reader.catch_up(log) == [*ALL, 3, 4]

    log.restart()
    assert reader.catch_up(log) == ALL


def test_an_entry_that_raises_is_left_out_alone_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log, reader = log_of(), Reader()
    reader.catch_up(log)
    with caplog.at_level(logging.ERROR):
        for entry in (1, -7, 2):
            log.append(entry)
        assert reader.catch_up(log) == [*ALL, 1, 2]
        log.append(-7)
        assert reader.catch_up(log) == [*ALL, 1, 2]

    assert [record.getMessage() for record in caplog.records] == [
        "node n-7 is left out: KeyError: 'id'"
    ]
    assert log.left_out == 1


def test_an_interruption_is_no_entry_that_raises() -> None:
    """A deadline ends the reader, which starts afresh the next time."""
    log, reader = log_of(), Reader()
    reader.catch_up(log)
    log.append(1)

    def interrupted(entry: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reader.follower.apply(log, reader.afresh, interrupted)

    assert log.left_out == 0
    assert reader.catch_up(log) == ALL


def test_a_reader_of_batches_that_raises_starts_afresh() -> None:
    log = log_of()
    follower = Follower(log)
    log.append(1)

    def fail(missed: Sequence[int] | None) -> None:
        assert missed == [1]
        raise ValueError

    with pytest.raises(ValueError):
        follower.read(log, fail)
    assert read(follower, log) is None


def test_a_log_keeps_a_quarter_more_than_it_must() -> None:
    log: RowLog[int] = RowLog(keep=100)
    for entry in range(1000):
        log.append(entry)
        assert len(log.entries) <= 125
        assert log.since(max(0, log.version - 100)) == list(range(max(0, entry - 99), entry + 1))
