"""Followers: what a log has that was not taken in yet, or all anew."""

from moorage.cache.follower import KEEP, Follower, RowLog


def log_of(*entries: int) -> RowLog[int]:
    log: RowLog[int] = RowLog()
    for entry in entries:
        log.append(entry)
    return log


def test_a_new_follower_takes_all_anew_and_then_what_it_missed() -> None:
    log, follower = log_of(1, 2), Follower[int]()

    assert follower.is_behind(log)
    assert follower.missed(log) is None
    log.append(3)
    log.append(4)
    assert follower.is_behind(log)
    assert follower.missed(log) == [3, 4]
    assert not follower.is_behind(log)
    assert follower.missed(log) == ()


def test_a_follower_of_a_log_begins_at_its_end() -> None:
    log = log_of(1, 2)
    follower = Follower(log)

    assert follower.missed(log) == ()
    log.append(3)
    assert follower.missed(log) == [3]


def test_a_follower_that_missed_too_much_takes_all_anew() -> None:
    log = log_of(1)
    follower = Follower(log)
    for entry in range(2 * KEEP + 1):
        log.append(entry)

    assert follower.missed(log) is None
    assert follower.missed(log) == ()


def test_everything_changed_at_once_is_all_anew() -> None:
    log = log_of(1)
    follower = Follower(log)
    log.restart()

    assert follower.missed(log) is None


def test_the_log_of_another_table_is_all_anew_even_at_the_same_version() -> None:
    follower = Follower(log_of(1, 2))
    other = log_of(3, 4)

    assert follower.is_behind(other)
    assert follower.missed(other) is None


def test_what_is_skipped_was_taken_in_and_what_is_forgotten_was_not() -> None:
    log = log_of(1)
    follower = Follower(log)
    log.append(2)
    follower.skip(log)
    assert follower.missed(log) == ()

    follower.forget()
    assert follower.is_behind(log)
    assert follower.missed(log) is None


def test_a_log_keeps_a_quarter_more_than_it_must() -> None:
    log: RowLog[int] = RowLog(keep=100)
    for entry in range(1000):
        log.append(entry)
        assert len(log.entries) <= 125
        assert log.since(max(0, log.version - 100)) == list(range(max(0, entry - 99), entry + 1))
