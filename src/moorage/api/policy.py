"""The objects that rank and protect pods: priority classes and disruption budgets."""

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, LabelSelector


class PodDisruptionBudgetSpec(ApiStruct):
    """The pods to protect, and how many may be missing."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(ApiStruct):
    """How many more pods may be disrupted now, and which are about to be."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(KubeObject):
    """A limit to voluntary disruption, which preemption tries to respect."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject):
    """A name for a priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
