import pytest

from moorage.api.cluster_objects import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from moorage.api.pod import Pod
from moorage.cache import disruption_budgets
from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets

WEB = LabelSelector(match_labels={"app": "web"})
INVALID = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Like"),))


def budget(
    selector: LabelSelector | None = WEB,
    allowed: int = 0,
    namespace: str = "shop",
    disrupted: tuple[str, ...] = (),
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed,
            disrupted_pods=dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
        ),
    )


def violations(
    budgets: list[PodDisruptionBudget], labels: dict[str, str], count: int
) -> list[bool]:
    cache = Cache()
    pods = [
        Pod(metadata=ObjectMeta(name=f"web-{i}", namespace="shop", uid=str(i), labels=labels))
        for i in range(count)
    ]
    return Budgets(budgets).violated_by(cache.info(pod) for pod in pods)


@pytest.mark.parametrize(
    ("budgets", "want"),
    [
        pytest.param([], [False] * 3, id="without budgets nothing is violated"),
        pytest.param([budget()], [True] * 3, id="a budget of zero protects every pod"),
        pytest.param(
            [budget(allowed=2)], [False, False, True], id="each eviction uses up the budget"
        ),
        pytest.param([budget(namespace="other")], [False] * 3, id="a budget ends at its namespace"),
        pytest.param([budget(None)], [False] * 3, id="an absent selector protects nothing"),
        pytest.param([budget(LabelSelector())], [False] * 3, id="an empty one protects nothing"),
        pytest.param([budget(INVALID)], [False] * 3, id="an invalid one protects nothing"),
        pytest.param(
            [budget(disrupted=("web-1",))],
            [True, False, True],
            id="a pod that is disrupted already violates nothing",
        ),
        pytest.param(
            [budget(allowed=1, disrupted=("web-0",))],
            [False, False, True],
            id="and uses nothing up",
        ),
        pytest.param(
            [budget(allowed=1), budget(allowed=2)],
            [False, True, True],
            id="of two budgets the smaller decides",
        ),
    ],
)
def test_violations(budgets: list[PodDisruptionBudget], want: list[bool]) -> None:
    assert want == violations(budgets, {"app": "web"}, 3)


def test_a_pod_without_labels_is_not_protected() -> None:
    no_database = LabelSelector(
        match_expressions=(LabelSelectorRequirement(key="db", operator="DoesNotExist"),)
    )

    assert violations([budget(no_database)], {}, 1) == [False]
    assert violations([budget(no_database)], {"app": "web"}, 1) == [True]


def test_a_violated_budget_ends_the_count_of_those_after_it() -> None:
    """kube stops at the first budget below zero, so the next keeps what it has."""
    first, second = budget(allowed=0), budget(LabelSelector(match_labels={"tier": "front"}), 1)
    both = {"app": "web", "tier": "front"}
    cache = Cache()
    pods = [
        Pod(metadata=ObjectMeta(name="a", namespace="shop", uid="a", labels=both)),
        Pod(metadata=ObjectMeta(name="b", namespace="shop", uid="b", labels={"tier": "front"})),
    ]

    assert Budgets([first, second]).violated_by(map(cache.info, pods)) == [True, False]


def test_only_budgets_that_can_protect_count_as_budgets() -> None:
    assert not Budgets([budget(None), budget(LabelSelector()), budget(INVALID)])
    assert Budgets([budget()])


def test_what_budgets_select_is_remembered_of_so_many_classes_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disruption_budgets, "_CLASSES_KEPT", 3)
    budgets, cache = Budgets([budget()]), Cache()
    web = cache.info(labelled("web"))

    for number in range(9):
        other = cache.info(labelled(f"other-{number}"))
        assert budgets.violated_by([other, web]) == [False, True]

    assert len(budgets._selecting) <= 3


def labelled(app: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=app, namespace="shop", labels={"app": app}))
