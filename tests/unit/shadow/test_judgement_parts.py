"""Second looks, gaps, and what a journal remembers."""

import json
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.clock import VirtualClock
from moorage.config.field_errors import InputError
from moorage.shadow.in_flight import Bound, InFlight
from moorage.shadow.journal import Journal, read_journal
from moorage.shadow.judgement import Agreement, Judgement
from moorage.shadow.tally import MOST_NAMES, OTHERS, Tally
from moorage.shadow.unseen import Unseen
from moorage.shadow.watcher import Watcher
from moorage.testing import builders
from moorage.watch.api_resources import PODS
from moorage.watch.reflector import Change, Reflector


def judgement(agreement: Agreement, pod: str = "default/a", time: float = 1.0) -> Judgement:
    return Judgement(
        configuration="c",
        pod=pod,
        scheduler="s",
        time=time,
        agreement=agreement,
        node="n",
        given_up=3,
    )


def a_node() -> Node:
    return builders.node("n1").build()


def a_pod(name: str, node: str = "") -> Pod:
    made = builders.pod(name)
    return (made.on(node) if node else made).build()


def test_a_decision_that_was_made_before_another_was_bound_is_understood() -> None:
    cache = Cache()
    cache.put_node(a_node())
    first, second = a_pod("first"), a_pod("second")
    cache.put_pod(a_pod("first", "n1"))
    flying = InFlight(cache)
    flying.believed(Bound(1.0, first, "n1"))

    def ask(pod: object, node: str) -> Judgement:
        fits = cache.node_of(first.uid) is None
        return judgement(Agreement.SAME if fits else Agreement.REFUSED)

    again = flying.look_back(Bound(1.5, second, "n1"), judgement(Agreement.REFUSED), ask)
    assert again.agreement is Agreement.SAME
    assert again.in_flight
    assert cache.node_of(first.uid) == "n1"
    new = flying.look_back(Bound(1.5, second, "n1", 1.2), judgement(Agreement.REFUSED), ask)
    assert new.agreement is Agreement.REFUSED, "it came after the other was bound"
    late = flying.look_back(Bound(9.0, second, "n1"), judgement(Agreement.REFUSED), ask)
    assert late.agreement is Agreement.REFUSED


def test_a_decision_that_saw_a_pod_before_it_was_bound_is_understood_later() -> None:
    cache = Cache()
    cache.put_node(a_node())
    early, late = a_pod("early"), a_pod("late")
    flying, settled = InFlight(cache), list[Judgement]()

    def ask(pod: object, node: str) -> Judgement:
        sees = cache.node_of(late.uid) is not None
        return judgement(Agreement.SAME if sees else Agreement.WORSE)

    bound = Bound(1.0, early, "n1")
    flying.keep_open(bound, judgement(Agreement.WORSE), ask, lambda old, new: settled.append(new))
    cache.put_pod(a_pod("early", "n1"))
    flying.believed(bound)
    assert settled == []
    cache.put_pod(a_pod("late", "n1"))
    flying.believed(Bound(1.2, late, "n1"))
    assert [each.agreement for each in settled] == [Agreement.SAME]


def test_of_what_was_bound_later_the_latest_may_be_all_that_was_seen() -> None:
    cache = Cache()
    cache.put_node(a_node())
    early, between, late = a_pod("early"), a_pod("between"), a_pod("late")
    flying, settled = InFlight(cache), list[Judgement]()

    def ask(pod: object, node: str) -> Judgement:
        sees = cache.node_of(late.uid) is not None and cache.node_of(between.uid) is None
        return judgement(Agreement.SAME if sees else Agreement.WORSE)

    bound = Bound(1.0, early, "n1")
    flying.keep_open(bound, judgement(Agreement.WORSE), ask, lambda old, new: settled.append(new))
    for time, each in ((1.0, early), (1.1, between), (1.2, late)):
        assert settled == []
        cache.put_pod(a_pod(each.name, "n1"))
        flying.believed(Bound(time, each, "n1"))
    assert [each.agreement for each in settled] == [Agreement.SAME]
    assert cache.node_of(between.uid) == "n1"


def test_a_decision_that_knew_of_a_nomination_before_it_was_told_is_understood_later() -> None:
    cache = Cache()
    cache.put_node(a_node())
    early, large = a_pod("early"), a_pod("large")
    flying, settled = InFlight(cache), list[Judgement]()

    def ask(pod: object, node: str) -> Judgement:
        sees = cache.nominations.node_of(large.uid) is not None
        return judgement(Agreement.SAME if sees else Agreement.WORSE)

    bound = Bound(1.0, early, "n1")
    flying.keep_open(bound, judgement(Agreement.WORSE), ask, lambda old, new: settled.append(new))
    cache.put_pod(a_pod("early", "n1"))
    flying.believed(bound)
    cache.nominations.put(cache.info(large), "n1")
    flying.nominated(Bound(1.1, large, "n1", since=1.05))
    assert settled == [], "it came after the other was bound"
    flying.nominated(Bound(1.1, large, "n1", since=0.5))
    assert [each.agreement for each in settled] == [Agreement.SAME]


def test_that_room_is_made_for_a_pod_is_passed_on_once_it_is_believed() -> None:
    watcher = Watcher(Cache(), VirtualClock(3.0), {}, {}, Unseen(), list, mock.Mock())
    watcher.begun = True
    watcher._in_flight = {"c": (flying := mock.Mock())}
    before = a_pod("large")
    status = msgspec.structs.replace(before.status, nominated_node_name="n1")
    promised = Change("updated", old=before, new=msgspec.structs.replace(before, status=status))

    watcher.before(Change("added", new=before), PODS)
    watcher.before(promised, PODS)
    assert flying.nominated.mock_calls == []
    watcher.after(promised, PODS)

    assert flying.nominated.mock_calls == [mock.call(Bound(3.0, before, "n1", 3.0))]


def test_a_decision_that_still_saw_a_pod_which_was_gone_by_then_is_understood() -> None:
    cache = Cache()
    cache.put_node(a_node())
    old, new = a_pod("old", "n1"), a_pod("new")
    cache.put_pod(old)
    flying = InFlight(cache)
    flying.gone(1.0, old.uid)
    cache.remove_pod(old.uid)

    def ask(pod: object, node: str) -> Judgement:
        return judgement(Agreement.WORSE if cache.pod(old.uid) is None else Agreement.SAME)

    again = flying.look_back(Bound(1.5, new, "n1", 0.5), judgement(Agreement.WORSE), ask)
    assert again.in_flight
    assert cache.pod(old.uid) is None
    late = flying.look_back(Bound(1.5, new, "n1", 1.2), judgement(Agreement.WORSE), ask)
    assert late.agreement is Agreement.WORSE


def test_a_second_look_replaces_the_first_in_the_tally() -> None:
    tally, first = Tally("c"), judgement(Agreement.WORSE)
    tally.add(first)
    assert (tally.given_up, len(tally.disagreements)) == (3, 1)
    tally.replace(first, judgement(Agreement.SAME))
    assert tally.counts[Agreement.WORSE] == 0
    assert (tally.agreeing, len(tally.disagreements)) == (1, 0)


def test_many_namespaces_share_a_line() -> None:
    tally = Tally("c")
    for number in range(MOST_NAMES + 50):
        tally.add(judgement(Agreement.SAME, f"ns-{number}/a"))
    assert len(tally.by_namespace) == MOST_NAMES + 1
    assert tally.by_namespace[OTHERS][Agreement.SAME] == 50


def test_a_journal_is_counted_again_and_the_time_between_is_unseen(tmp_path: Path) -> None:
    path = tmp_path / "shadow.jsonl"
    now = [100.0]
    first = Journal(path, lambda: now[0])
    first.write(judgement(Agreement.WORSE, time=101.0))
    first.write(judgement(Agreement.SAME, time=101.0))
    first.write(judgement(Agreement.TIED, "default/b", time=105.0))
    now[0] = 110.0
    first.alive()
    first._file.close()  # as if it had been killed
    with open(path, "ab") as torn:
        torn.write(b'{"type": "judgement", "conf')
    tally, unseen = Tally("c"), Unseen()
    assert read_journal(path, {"c": tally}, unseen, 150.0) == 2
    assert tally.counts[Agreement.WORSE] == 0
    assert tally.agreeing == 2
    assert unseen.seconds == 40.0
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text().splitlines()[0])["type"] == "started"


def test_a_journal_that_cannot_be_written_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="/dev/full: No space left on device"):
        Journal(Path("/dev/full"), lambda: 1.0)


def test_a_disk_that_fills_up_does_not_end_the_shadow(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path / "shadow.jsonl", lambda: 1.0)
    journal._file.close()
    journal._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 (closed with it)
    for _ in range(3):
        journal.alive()
    journal.close()
    assert caplog.text.count("Judgements not kept") == 1


def test_a_watch_that_is_not_there_is_a_gap() -> None:
    unseen = Unseen()
    reflector = Reflector.__new__(Reflector)
    reflector.resource, reflector.state = PODS, "watching"
    assert unseen.look([reflector], 1.0)
    reflector.state = "waiting"
    assert not unseen.look([reflector], 2.0)
    reflector.state = "watching"
    assert unseen.look([reflector], 7.5)
    assert unseen.seconds == 5.5
    assert unseen.spans[0].reason == "not watching pods"
