"""A hint that promises to read nothing of a pod but its spec, or nothing at all, keeps the promise.

The same changes as in test_hints.py are told to every hint with `per_spec` or `per_event`, about a
pod and about one that differs in all that the hint says it does not read: labels, annotations, name
and uid, or the spec, too.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest

from moorage.api.pod import Pod
from moorage.framework.events import EventHint, Hint
from moorage.queue.change_events import events_of_change
from tests.properties.test_hints import (
    CASES,
    THEMES,
    Disturbance,
    World,
    alone,
    decode,
    disturbances,
    draw,
)


def twin_of(pod: Pod, other: Pod) -> Pod:
    """The pod under another name, with the labels of another."""
    metadata = msgspec.structs.replace(
        pod.metadata,
        name="twin",
        uid="twin",
        labels=other.labels,
        annotations={"of": "the twin"},
    )
    return msgspec.structs.replace(pod, metadata=metadata)


def promises(
    pod: Pod, registered: tuple[EventHint, ...], changes: Disturbance, *, keyed: bool = False
) -> Iterator[tuple[EventHint, object, object]]:
    """The hints that promise to read so little, with the changes they are asked about."""
    for old, new in changes:
        for event in events_of_change(old, new):
            for entry in registered:
                by_spec = (
                    entry.per_spec if isinstance(entry.per_spec, bool) else entry.per_spec(pod)
                )
                promises = by_spec or entry.per_event or (keyed and entry.keyed)
                if promises and entry.event.matches(event):
                    yield entry, old, new


@pytest.mark.parametrize("plugin", THEMES)
def test_pods_that_differ_in_labels_alone_share_the_answer(plugin: str) -> None:
    answers: Counter[Hint] = Counter()
    profile = alone(plugin)
    for number in range(CASES):
        case, dice = draw(plugin, number)
        other, _ = draw(plugin, number, "twin")
        World(case, profile)  # gives the plugin its handle
        registered = tuple(profile.plugins[plugin].events())
        pod, stranger = decode(case["pod"], "pods"), decode(other["pod"], "pods")
        assert isinstance(pod, Pod)
        assert isinstance(stranger, Pod)
        twin = twin_of(pod, stranger)
        for changes in disturbances(case, other, dice):
            for entry, old, new in promises(pod, registered, changes):
                question = entry.class_hint or entry.hint
                assert question is not None
                assert entry.hint is not None
                like_it = stranger if entry.per_event else twin
                answer = question(pod, old, new)
                assert answer is question(like_it, old, new), (number, old, new)
                if answer is Hint.SKIP:
                    assert entry.hint(pod, old, new) is Hint.SKIP
                    assert entry.hint(like_it, old, new) is Hint.SKIP
                answers[answer] += 1
    assert answers.total() >= 20, answers


@pytest.mark.parametrize("plugin", THEMES)
def test_a_change_that_does_not_bring_what_a_pod_waits_for_is_skipped(plugin: str) -> None:
    told: Counter[str] = Counter()
    profile, keyed = alone(plugin), False
    for number in range(CASES):
        case, dice = draw(plugin, number)
        other, _ = draw(plugin, number, "twin")
        World(case, profile)  # gives the plugin its handle
        registered = [each for each in profile.plugins[plugin].events() if each.keyed]
        pod, stranger = decode(case["pod"], "pods"), decode(other["pod"], "pods")
        assert isinstance(pod, Pod)
        assert isinstance(stranger, Pod)
        for changes in disturbances(case, other, dice):
            for entry, old, new in promises(pod, tuple(registered), changes, keyed=True):
                assert entry.keyed is not None
                assert entry.hint is not None
                awaited, brought = entry.keyed.awaited(pod), entry.keyed.brought(old, new)
                assert awaited == entry.keyed.awaited(twin_of(pod, stranger))
                if awaited is None or brought is None:
                    told["anything may help"] += 1
                elif awaited not in brought:
                    assert entry.hint(pod, old, new) is Hint.SKIP, (number, old, new)
                    told["skipped"] += 1
        keyed = keyed or bool(registered)
    assert told["skipped"] >= (3 if keyed else 0), told
