"""PodDisruptionBudgets: whose eviction would take one below zero."""

from collections.abc import Iterable

from moorage.api import selectors
from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.selectors import Selector, SelectorError
from moorage.cache.podinfo import PodClass, PodInfo

_CLASSES_KEPT = 65_536


class Budgets:
    """Every budget that can protect a pod, and which classes of pods it selects.

    A budget whose selector is absent, empty or invalid protects no pod. A pod without labels is
    protected by no budget.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        selecting = [(budget, _selector(budget)) for budget in budgets]
        self._budgets = [
            (budget, selector) for budget, selector in selecting if selector.requirements
        ]
        self._allowed = [budget.status.disruptions_allowed for budget, _ in self._budgets]
        self._selecting: dict[int, tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def violated_by(self, pods: Iterable[PodInfo]) -> list[bool]:
        """For each pod, whether evicting it after the pods before it violates a budget.

        A pod that a budget already lists as disrupted does not count against that budget.
        """
        allowed = self._allowed.copy()
        return [self._evict(info, allowed) for info in pods]

    def _evict(self, info: PodInfo, allowed: list[int]) -> bool:
        for index in self._of(info.cls):
            if info.pod.name in self._budgets[index][0].status.disrupted_pods:
                continue
            allowed[index] -= 1
            if allowed[index] < 0:
                return True
        return False

    def _of(self, cls: PodClass) -> tuple[int, ...]:
        found = self._selecting.get(cls.id)
        if found is None:
            if len(self._selecting) >= _CLASSES_KEPT:
                self._selecting.clear()
            found = self._selecting[cls.id] = self._match(cls)
        return found

    def _match(self, cls: PodClass) -> tuple[int, ...]:
        if not cls.labels:
            return ()
        return tuple(
            index
            for index, (budget, selector) in enumerate(self._budgets)
            if budget.namespace == cls.namespace and selector.matches(cls.labels)
        )


def _selector(budget: PodDisruptionBudget) -> Selector:
    try:
        return selectors.compile(budget.spec.selector)
    except SelectorError:
        return selectors.NOTHING
