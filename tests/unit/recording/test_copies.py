"""Recordings that were cut, and recordings without names, give the same decisions."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.recording.anonymous import anonymous_entries
from moorage.recording.cut import Span, cut_entries, span_around
from moorage.recording.entries import Attempt, ExtenderSaid, Outcome, Placed, Refused
from moorage.recording.journal import write_recording
from moorage.recording.play import Player
from moorage.recording.segments import Recording
from tests.unit.recording.mixed_cluster import Recorded, record


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recordings") / "mixed")


def attempts(folder: Path) -> list[Attempt]:
    return [each for each in Recording(folder).entries() if isinstance(each, Attempt)]


@pytest.mark.parametrize("first", [5, 20, 40])
def test_a_cut_goes_on_as_the_whole_did(
    mixed: Recorded, tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = attempts(mixed.folder)
    moments = iter(range(1, len(whole) + 1))
    monkeypatch.setattr(
        "moorage.recording.cut.time_of",
        lambda entry: float(next(moments)) if isinstance(entry, Attempt) else None,
    )

    write_recording(tmp_path / "cut", cut_entries(mixed.folder, Span(first, first + 40.0)))

    assert attempts(tmp_path / "cut") == whole[first - 1 : first + 40]
    assert Player(tmp_path / "cut").play().divergence is None


def test_an_attempt_names_its_moment(mixed: Recorded) -> None:
    third = attempts(mixed.folder)[2]

    assert span_around(mixed.folder, "#3", 60) == (third.now - 60, third.now + 60)
    assert span_around(mixed.folder, third.id, 1) == (third.now - 1, third.now + 1)


def shape(outcome: Outcome) -> object:
    match outcome:
        case Placed(_, score, feasible, evaluated, parts):
            return score, feasible, evaluated, parts
        case Refused(verdicts, _, nominated, victims):
            counts = sorted((plugin, count) for plugin, _, count in verdicts)
            return counts, nominated is None, len(victims)
        case _:
            return outcome


def test_without_names_every_decision_is_the_same(mixed: Recorded, tmp_path: Path) -> None:
    write_recording(tmp_path / "anonymous", anonymous_entries(mixed.folder))

    before, after = attempts(mixed.folder), attempts(tmp_path / "anonymous")
    assert [shape(each.outcome) for each in before] == [shape(each.outcome) for each in after]
    assert [each.tie_key for each in before] == [each.tie_key for each in after]
    nodes = {
        (one.outcome.node, other.outcome.node)
        for one, other in zip(before, after, strict=True)
        if isinstance(one.outcome, Placed) and isinstance(other.outcome, Placed)
    }
    assert len(nodes) == len({one for one, _ in nodes}) == len({other for _, other in nodes})
    assert Player(tmp_path / "anonymous").play().divergence is None


def test_no_name_is_left(mixed: Recorded, tmp_path: Path) -> None:
    write_recording(tmp_path / "anonymous", anonymous_entries(mixed.folder))

    written = b"".join(Recording(tmp_path / "anonymous").frames())
    for name in (b"node-0", b"plain-", b"urgent-", b"train-", b"registry.example", b"last-applied"):
        assert name not in written, name
    assert b"topology.kubernetes.io/zone" in written, "plugins know this key by name"


def test_what_an_extender_said_is_left_without_names(mixed: Recorded, tmp_path: Path) -> None:
    said = (
        ExtenderSaid("scoring", "filter", error="dial secret-host: refused"),
        ExtenderSaid("scoring", "filter", {"nodenames": ["secret-node"]}),
    )
    entries: list[Any] = list(Recording(mixed.folder).entries())
    first = next(n for n, each in enumerate(entries) if isinstance(each, Attempt))
    entries[first] = msgspec.structs.replace(entries[first], answers=said)
    write_recording(tmp_path / "asking", entries)
    assert b"secret" in b"".join(Recording(tmp_path / "asking").frames())

    write_recording(tmp_path / "anonymous", anonymous_entries(tmp_path / "asking"))

    assert b"secret" not in b"".join(Recording(tmp_path / "anonymous").frames())
    kept = attempts(tmp_path / "anonymous")[0].answers
    assert [each.error for each in kept] == ["the extender failed", ""]
