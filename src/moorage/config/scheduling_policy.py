"""SchedulingPolicy documents: weights, affinity, priority and tolerations for a class of pods."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.api import name_validation
from moorage.api.meta import ObjectMeta
from moorage.api.pod import NodeAffinity, Toleration
from moorage.api.resource_amounts import is_counted
from moorage.config import node_affinity_validation, strict_decoder, yaml_documents
from moorage.config.field_errors import (
    ConfigError,
    Path,
    Problem,
    Report,
    duplicate,
    invalid,
    required,
    unsupported,
)
from moorage.config.types import ConfigStruct, Int32
from moorage.config.yaml_documents import Document

API_VERSION: Final = "scheduling.k8s.io/v1"
KIND: Final = "SchedulingPolicy"
UNKNOWN_RESOURCE: Final = (
    "must be cpu, memory, storage, pods, or an extended resource such as nvidia.com/gpu"
)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")


class PolicySpec(ConfigStruct, frozen=True):
    """The content of a policy: weights of resources, and what its pods are given."""

    resource_weights: dict[str, Int32] = msgspec.field(default_factory=dict)
    node_affinity: NodeAffinity | None = None
    priority_class: str = ""
    tolerations: tuple[Toleration, ...] = ()


class SchedulingPolicy(ConfigStruct, frozen=True):
    """A named policy."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: ObjectMeta = ObjectMeta()
    spec: PolicySpec = PolicySpec()

    @property
    def name(self) -> str:
        """The name, unique among the policies loaded together."""
        return self.metadata.name


def load_policies(
    document: str | bytes | Mapping[str, Any], *, source: str = ""
) -> list[SchedulingPolicy]:
    """Load all policies of a text, inside ConfigMaps too; raise ConfigError if any is wrong."""
    policies: dict[str, SchedulingPolicy] = {}
    problems: list[Problem] = []
    for found in yaml_documents.find_documents(document, KIND, source):
        report = Report(source, found.places, found.within)
        policy = _policy(found, report)
        if policy is not None:
            if policy.name in policies:
                report.problem(("metadata", "name"), duplicate(policy.name))
            policies[policy.name] = policy
        problems += report.problems
    if problems:
        raise ConfigError(problems)
    return list(policies.values())


def is_known_resource(name: str) -> bool:
    """Whether a node may offer a resource of that name; `storage` is ephemeral storage."""
    return name == "storage" or is_counted(name)


def _policy(found: Document, report: Report) -> SchedulingPolicy | None:
    policy = strict_decoder.decode(found.value, SchedulingPolicy, report)
    if policy is not None:
        _check(policy, report)
    return policy


def _check(policy: SchedulingPolicy, report: Report) -> None:
    if policy.api_version != API_VERSION:
        report.problem(("apiVersion",), unsupported(policy.api_version, (API_VERSION,)))
    if not policy.name:
        report.problem(("metadata", "name"), required())
    spec = policy.spec
    for resource, weight in spec.resource_weights.items():
        at: Path = ("spec", "resourceWeights", resource)
        for fault in name_validation.label_key_faults(resource):
            report.problem(at, invalid(resource, fault))
        if not is_known_resource(resource):
            report.problem(at, invalid(resource, UNKNOWN_RESOURCE))
        if not 0 < weight <= 100:
            detail = f"resource weight of {resource} not in valid range (0, 100]"
            report.problem(at, invalid(weight, detail))
    if spec.node_affinity is not None:
        node_affinity_validation.validate_node_affinity(
            spec.node_affinity, report, ("spec", "nodeAffinity")
        )
    for i, toleration in enumerate(spec.tolerations):
        _toleration(toleration, report, ("spec", "tolerations", i))


def _toleration(toleration: Toleration, report: Report, path: Path) -> None:
    operator = toleration.operator or "Equal"
    if operator not in _OPERATORS:
        report.problem((*path, "operator"), unsupported(operator, _OPERATORS))
    if not toleration.key and operator != "Exists":
        detail = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        report.problem((*path, "operator"), invalid(toleration.operator, detail))
    for fault in name_validation.label_key_faults(toleration.key) if toleration.key else ():
        report.problem((*path, "key"), invalid(toleration.key, fault))
    if operator == "Exists" and toleration.value:
        detail = "value must be empty when `operator` is 'Exists'"
        report.problem((*path, "value"), invalid(toleration.value, detail))
    if toleration.effect and toleration.effect not in _EFFECTS:
        report.problem((*path, "effect"), unsupported(toleration.effect, _EFFECTS))
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        report.problem((*path, "effect"), invalid(toleration.effect, detail))
