"""What arriving pods are made from: one template for all pods that ask for the same."""

from typing import Final

import msgspec

from moorage.api.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from moorage.api.pod import Pod, PodSpec
from moorage.api.pod_spec import Container, ResourceRequirements
from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.api.taints import Toleration
from moorage.kpi.meter import PodFacts
from moorage.kpi.pod_times import PodKind

GPU: Final = "nvidia.com/gpu"
GPU_MILLI: Final = "moorage/gpu-milli"
"""Thousandths of GPUs, in traces whose pods share GPUs; whole GPUs are counted in it as well."""
GPU_MODEL_LABEL: Final = "nvidia.com/gpu.product"
WHOLE_GPU: Final = 1000
WORKLOAD_LABEL: Final = "app"
"""Pods with the same value are replicas of one workload."""

OUR_SCHEDULER: Final = ""
"""The scheduler of pods that do not name one: the first profile of the configuration tried."""


class PodTemplate(msgspec.Struct, frozen=True):
    """A pod without its name, its times and its group."""

    namespace: str
    spec: PodSpec
    kind: PodKind
    requests: dict[str, float]
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    usage: float = 1.0

    def facts(self, group: str = "", min_member: int = 0) -> PodFacts:
        """What the KPIs need to know of such a pod, as a member of a group or alone."""
        workload = self.labels.get(WORKLOAD_LABEL, "")
        owner = f"{self.namespace}/{workload}" if workload else ""
        gang = f"{self.namespace}/{group}" if group else ""
        return PodFacts(self.kind, self.requests, self.usage, owner, gang, min_member)


class Asked(msgspec.Struct, frozen=True):
    """What a row of a trace asks for."""

    namespace: str = "default"
    cpu: str = ""
    memory: str = ""
    gpu: int = 0
    gpu_milli: int = WHOLE_GPU
    gpu_model: str = ""
    priority: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    scheduler: str = OUR_SCHEDULER
    usage: float = 1.0


class Templates:
    """Makes each template once; `shares_gpus` says that some pods ask for a fraction of a GPU."""

    def __init__(self, *, shares_gpus: bool) -> None:
        self._shares_gpus = shares_gpus
        self._made: dict[Asked, PodTemplate] = {}

    def of(self, asked: Asked) -> PodTemplate:
        """The template of a row."""
        found = self._made.get(asked)
        if found is None:
            found = self._made[asked] = self._make(asked)
        return found

    def _make(self, asked: Asked) -> PodTemplate:
        requests = self._requests(asked)
        spec = PodSpec(
            scheduler_name=asked.scheduler,
            priority=asked.priority,
            containers=(Container(name="main", resources=ResourceRequirements(requests=requests)),),
            node_selector=dict(asked.node_selector),
            tolerations=asked.tolerations,
            affinity=_of_models(asked.gpu_model),
        )
        return template_of(
            Pod(spec=spec), asked.namespace, dict(asked.labels), _class(asked), asked.usage
        )

    def _requests(self, asked: Asked) -> dict[str, str]:
        given = {"cpu": asked.cpu, "memory": asked.memory}
        if asked.gpu and asked.gpu_milli >= WHOLE_GPU:
            given[GPU] = str(asked.gpu)
        if asked.gpu and self._shares_gpus:
            given[GPU_MILLI] = str(asked.gpu * asked.gpu_milli)
        return {name: amount for name, amount in given.items() if amount not in ("", "0")}


def template_of(
    pod: Pod, namespace: str, labels: dict[str, str], cls: str, usage: float = 1.0
) -> PodTemplate:
    """A template from a pod's spec."""
    requests = {name: float(amount) for name, amount in pod.requests.items() if amount}
    workload = f"{namespace}/{labels.get(WORKLOAD_LABEL) or cls}"
    kind = PodKind(namespace, pod.priority, cls, workload)
    return PodTemplate(namespace, pod.spec, kind, requests, labels, {}, usage)


def class_of(requests: dict[str, int]) -> str:
    """The class of a pod by the GPUs it asks for."""
    gpus = sum(amount for name, amount in requests.items() if name.endswith("/gpu"))
    return f"{gpus}-gpu" if gpus else "cpu"


def _class(asked: Asked) -> str:
    if not asked.gpu:
        return "cpu"
    return "shared-gpu" if asked.gpu_milli < WHOLE_GPU else f"{asked.gpu}-gpu"


def _of_models(models: str) -> Affinity | None:
    """Affinity for nodes with a GPU of one of the models, which are separated by `|`."""
    values = tuple(filter(None, (model.strip() for model in models.split("|"))))
    if not values:
        return None
    wanted = NodeSelectorRequirement(key=GPU_MODEL_LABEL, operator="In", values=values)
    terms = (NodeSelectorTerm(match_expressions=(wanted,)),)
    required = NodeSelector(node_selector_terms=terms)
    return Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    )


def member_labels(labels: dict[str, str], group: str) -> dict[str, str]:
    """The labels of a pod that belongs to a group."""
    return {**labels, POD_GROUP_LABEL: group} if group else labels
