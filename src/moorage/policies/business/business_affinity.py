"""BusinessAffinityPlugin: rules for the nodes that core business, databases and others may use."""

from collections.abc import Hashable
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api import label_requirements, selectors
from moorage.api.affinity import NodeSelectorRequirement
from moorage.api.label_requirements import Requirement, SelectorError
from moorage.api.meta import LabelSelector
from moorage.api.pod import Pod
from moorage.api.selectors import Selector
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config.types import ConfigStruct
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import Rejection, unresolvable
from moorage.policies.argument_types import Percent

CORE_ON_CORE: Final = {
    "en": "node(s) were not core nodes, where core business must run",
    "zh": "核心业务必须部署在核心节点",
}
NO_DATABASE_AT_THE_EDGE: Final = {
    "en": "node(s) were at the edge, where databases must not run",
    "zh": "数据库业务不能部署在边缘节点",
}
RULE_BROKEN: Final = {
    "en": "node(s) broke the business rule for pods with {}",
    "zh": "节点不符合业务规则：{}",
}


class BusinessRule(ConfigStruct, frozen=True):
    """The pods that `pods` selects may run only on nodes that match all of `nodes`."""

    pods: LabelSelector
    nodes: tuple[NodeSelectorRequirement, ...]
    reason: str = ""


class CompiledRule(NamedTuple):
    pods: Selector
    nodes: tuple[Requirement, ...]
    reason: str


class BusinessAffinityPlugin(Filter, Score, frozen=True):
    """Core business runs on core nodes only, databases never at the edge, pods in preferred zones.

    The filter: pods labelled `business-level: core` need nodes labelled `node-level: core`. Pods
    labelled `business-type: database` need nodes not labelled `zone: edge`. `rules` replaces both
    rules. The score: a node gets `sameZoneScore` (100) if the pod's label `preferredZoneLabel`
    (`preferred-zone`) equals the node's `zoneLabel` (`zone`), and otherwise `otherZoneScore` (20).
    A pod without a preferred zone scores all nodes alike. Reasons are in English; `language: zh`
    makes them Chinese. A rule's own `reason` takes precedence over both.
    """

    rules: tuple[BusinessRule, ...] = ()
    preferred_zone_label: str = "preferred-zone"
    zone_label: str = "zone"
    same_zone_score: Percent = 100
    other_zone_score: Percent = 20
    language: Literal["en", "zh"] = "en"

    aliases = ("BusinessAffinity",)
    depends = Depends.NODE

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = []
        for index, rule in enumerate(
            msgspec.convert(args.get("rules", []), tuple[BusinessRule, ...])
        ):
            try:
                _compile_rule(rule, "en")
            except SelectorError as error:
                faults.append(f"rules[{index}]: {error}")
        return faults

    @cached_property
    def compiled(self) -> tuple[CompiledRule, ...]:
        """The configured rules, or else the default ones."""
        language = self.language
        return tuple(
            _compile_rule(rule, language) for rule in self.rules or _default_rules(language)
        )

    def sign(self, cycle: Cycle) -> Hashable:
        return self.concerned(cycle.pod), cycle.pod.labels.get(self.preferred_zone_label)

    def concerned(self, pod: Pod) -> tuple[int, ...]:
        """The indices of the rules that select the pod."""
        found = enumerate(self.compiled)
        return tuple(index for index, rule in found if rule.pods.matches(pod.labels))

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """The code is one above the index of the first rule that the node breaks."""
        for index in self.concerned(pod):
            broken = ~selector_masks.all_labels_match(self.compiled[index].nodes, nodes)
            out[broken & (out == 0)] = index + 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(self.compiled[code - 1].reason)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        zone = pod.labels.get(self.preferred_zone_label)
        out[:] = self.other_zone_score
        if zone is not None:
            out[selector_masks.has_any_label([(self.zone_label, zone)], nodes)] = (
                self.same_zone_score
            )

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        return EventHint(node), EventHint(pod)


def _default_rules(language: str) -> tuple[BusinessRule, ...]:
    core = NodeSelectorRequirement(key="node-level", operator="In", values=("core",))
    away = NodeSelectorRequirement(key="zone", operator="NotIn", values=("edge",))
    return (
        BusinessRule(
            LabelSelector(match_labels={"business-level": "core"}), (core,), CORE_ON_CORE[language]
        ),
        BusinessRule(
            LabelSelector(match_labels={"business-type": "database"}),
            (away,),
            NO_DATABASE_AT_THE_EDGE[language],
        ),
    )


def _compile_rule(rule: BusinessRule, language: str) -> CompiledRule:
    pods = selectors.compile(rule.pods)
    wanted = (
        label_requirements.check_requirement(each.key, each.operator, each.values)
        for each in rule.nodes
    )
    return CompiledRule(pods, tuple(wanted), rule.reason or RULE_BROKEN[language].format(pods))
