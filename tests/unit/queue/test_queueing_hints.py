from collections.abc import Callable, Iterable
from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.events import (
    ANY_EVENT,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    Resource,
)
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import PluginError
from moorage.queue.queueing_hints import PluginHints, QueueingHints, QueueingStrategy, SharedAnswers
from moorage.queue.unschedulable_pods import PodsBySpec, alike

SCHEDULER = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
CLAIM_ADD = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)


def yes(pod: Pod, old: Any, new: Any) -> Hint:
    return Hint.QUEUE


def no(pod: Pod, old: Any, new: Any) -> Hint:
    return Hint.SKIP


def broken(pod: Pod, old: Any, new: Any) -> Hint:
    raise ValueError("no such node")


REGISTERED = {
    "Yes": (EventHint(NODE_ADD, yes),),
    "No": (EventHint(NODE_ADD, no),),
    "Always": (EventHint(NODE_ADD),),
    "Other": (EventHint(CLAIM_ADD, yes),),
    "Twice": (EventHint(NODE_ADD, no), EventHint(ClusterEvent(Resource.NODE, Action.ALL), yes)),
    "Any": (EventHint(ANY_EVENT),),
    "Broken": (EventHint(NODE_ADD, broken),),
    "Never": (),
}

Refused = Callable[..., QueuedPod]
Told = tuple[str, PluginError]
"""The pod that a plugin was asked about, and how it failed."""


@pytest.fixture
def reported() -> list[Told]:
    return []


@pytest.fixture
def hints(reported: list[Told]) -> QueueingHints:
    return QueueingHints({SCHEDULER: REGISTERED}, lambda *told: reported.append(told))


@pytest.fixture
def refused(pod: Callable[..., PodInfo]) -> Refused:
    """A pod that some plugins refused and others keep pending."""

    def make(by: Iterable[str] = (), pending: Iterable[str] = (), name: str = "web") -> QueuedPod:
        queued = QueuedPod(pod(name), 0.0)
        queued.unschedulable_plugins = frozenset(by)
        queued.pending_plugins = frozenset(pending)
        return queued

    return make


@pytest.mark.parametrize(
    ("by", "pending", "want"),
    [
        pytest.param(
            [], [], QueueingStrategy.AFTER_BACKOFF, id="a pod refused by nobody is retried"
        ),
        pytest.param(["Yes"], [], QueueingStrategy.AFTER_BACKOFF, id="Queue retries after backoff"),
        pytest.param(["Always"], [], QueueingStrategy.AFTER_BACKOFF, id="no function means Queue"),
        pytest.param(
            ["Any"], [], QueueingStrategy.AFTER_BACKOFF, id="a wildcard registration hears all"
        ),
        pytest.param(["No"], [], QueueingStrategy.SKIP, id="QueueSkip leaves the pod alone"),
        pytest.param(["Other"], [], QueueingStrategy.SKIP, id="other events are not asked about"),
        pytest.param(
            ["Never"], [], QueueingStrategy.SKIP, id="no event undoes a plugin without events"
        ),
        pytest.param(
            ["Unknown"], [], QueueingStrategy.SKIP, id="nor one that is not in the profile"
        ),
        pytest.param(["No", "Yes"], [], QueueingStrategy.AFTER_BACKOFF, id="one Queue is enough"),
        pytest.param(
            ["Twice"], [], QueueingStrategy.AFTER_BACKOFF, id="every hint for the event is asked"
        ),
        pytest.param([], ["Yes"], QueueingStrategy.IMMEDIATELY, id="Pending skips backoff"),
        pytest.param(
            ["Yes"], ["No"], QueueingStrategy.AFTER_BACKOFF, id="if it is Pending that queues"
        ),
        pytest.param(
            ["Yes"], ["Always"], QueueingStrategy.IMMEDIATELY, id="Pending outdoes Unschedulable"
        ),
    ],
)
def test_an_event_is_worth(
    hints: QueueingHints,
    refused: Refused,
    by: list[str],
    pending: list[str],
    want: QueueingStrategy,
) -> None:
    assert (
        hints.weigh(refused(by, pending), hints.hear(NODE_ADD), SharedAnswers(None, None)) is want
    )


def test_a_hint_that_raises_counts_as_queue_and_is_reported(
    hints: QueueingHints, refused: Refused, reported: list[Told]
) -> None:
    strategy = hints.weigh(refused(["Broken"]), hints.hear(NODE_ADD), SharedAnswers(None, None))

    assert strategy is QueueingStrategy.AFTER_BACKOFF
    assert [(pod, str(error)) for pod, error in reported] == [
        ("shop/web", "running QueueingHint plugin 'Broken': ValueError: no such node")
    ]


def test_answers_are_counted_by_plugin_event_and_answer(
    hints: QueueingHints, refused: Refused
) -> None:
    for by in (["Yes"], ["No"], ["No"], ["Broken"]):
        hints.weigh(refused(by), hints.hear(NODE_ADD), SharedAnswers(None, None))

    assert hints.asked == {
        ("Yes", "NodeAdd", "Queue"): 1,
        ("No", "NodeAdd", "QueueSkip"): 2,
        ("Broken", "NodeAdd", "Error"): 1,
    }


def test_the_hint_sees_the_pod_and_the_object_before_and_after(
    pod: Callable[..., PodInfo], refused: Refused, reported: list[Told]
) -> None:
    seen: list[tuple[Any, ...]] = []

    def look(pod: Pod, old: Any, new: Any) -> Hint:
        seen.append((pod.name, old, new))
        return Hint.SKIP

    hints = QueueingHints(
        {SCHEDULER: {"Look": [EventHint(NODE_ADD, look)]}}, lambda *told: reported.append(told)
    )
    hints.weigh(refused(["Look"]), hints.hear(NODE_ADD), SharedAnswers("before", "after"))

    assert seen == [("web", "before", "after")]


@pytest.mark.parametrize(
    ("of", "want"),
    [
        pytest.param(None, QueueingStrategy.AFTER_BACKOFF, id="everyone when it carries no pod"),
        pytest.param("web", QueueingStrategy.AFTER_BACKOFF, id="the pod it carries"),
        pytest.param("db", QueueingStrategy.SKIP, id="no pod but the one it carries"),
    ],
)
def test_a_wildcard_event_moves(
    hints: QueueingHints, refused: Refused, of: str | None, want: QueueingStrategy
) -> None:
    carried = None if of is None else refused(name=of).info.pod

    assert (
        hints.weigh(refused(["Never"]), hints.hear(FORCE_ACTIVATE), SharedAnswers(None, carried))
        is want
    )


def test_hints_of_other_profiles_are_not_asked(refused: Refused, reported: list[Told]) -> None:
    hints = QueueingHints({"batch": REGISTERED, SCHEDULER: {}}, lambda *told: reported.append(told))

    assert hints.hear(NODE_ADD).is_of_interest
    assert (
        hints.weigh(refused(["Yes"]), hints.hear(NODE_ADD), SharedAnswers(None, None))
        is QueueingStrategy.SKIP
    )


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param(NODE_ADD, True, id="one that a plugin registered for"),
        pytest.param(UNSCHEDULABLE_TIMEOUT, True, id="a wildcard, whoever registered"),
        pytest.param(
            ClusterEvent(Resource.CSI_NODE, Action.ADD), False, id="not one that nobody wants"
        ),
    ],
)
def test_an_event_of_interest_is(reported: list[Told], event: ClusterEvent, want: bool) -> None:
    hints = QueueingHints(
        {SCHEDULER: {"Yes": REGISTERED["Yes"]}}, lambda *told: reported.append(told)
    )

    assert hints.hear(event).is_of_interest is want


@pytest.mark.parametrize(
    ("registered", "want"),
    [
        pytest.param([EventHint(NODE_ADD, no, per_class=True)], False, id="Skip is for the class"),
        pytest.param([EventHint(NODE_ADD, yes, per_class=True)], True, id="Queue is for the class"),
        pytest.param([EventHint(NODE_ADD, no, per_spec=True)], False, id="or for the spec"),
        pytest.param([EventHint(NODE_ADD, yes, per_spec=True)], True, id="and so is Queue"),
        pytest.param([EventHint(NODE_ADD, no, per_event=True)], False, id="or for everybody"),
        pytest.param([EventHint(NODE_ADD, yes, per_event=True)], True, id="and so is Queue there"),
        pytest.param(
            [EventHint(NODE_ADD, no, per_event=True), EventHint(NODE_ADD, yes, per_class=True)],
            True,
            id="the one for a class may say Queue where the one for everybody skips",
        ),
        pytest.param(
            [EventHint(NODE_ADD, broken, per_event=True)], True, id="raising is no Skip for all"
        ),
        pytest.param([EventHint(NODE_ADD, no)], True, id="without the promise each pod is asked"),
        pytest.param([EventHint(NODE_ADD, broken, per_class=True)], True, id="raising is no Skip"),
        pytest.param(
            [EventHint(NODE_ADD, yes, class_hint=no)], False, id="Skip of its own hint is, too"
        ),
        pytest.param(
            [EventHint(NODE_ADD, no, class_hint=yes)], True, id="Queue of its own has each asked"
        ),
        pytest.param([EventHint(NODE_ADD, no, class_hint=broken)], True, id="nor there a Skip"),
        pytest.param(
            [EventHint(NODE_ADD, no, per_class=True), EventHint(NODE_ADD)],
            True,
            id="all hints of the plugin count",
        ),
    ],
)
def test_a_class_of_equal_pods_may_wake(
    hints: QueueingHints, refused: Refused, registered: list[EventHint], want: bool
) -> None:
    queued = refused()
    pods = {queued.info.uid: queued}
    specs: PodsBySpec = {alike(queued): {queued.info.cls: pods}}

    woken = hints.may_wake(PluginHints.of(tuple(registered)), specs, SharedAnswers(None, None))

    assert list(woken) == ([pods] if want else [])
