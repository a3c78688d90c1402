"""Plans made before: pods of equal labels mostly bring equal constraints."""

from typing import NamedTuple

from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.pod import Pod, PodSpec
from moorage.api.selectors import Selector
from moorage.cache.populations import LabelGroup
from moorage.plugins.pod_topology_spread.constraints import Plan, compile_plan
from moorage.plugins.pod_topology_spread.defaults import DefaultSelectors

_KEPT = 4096


class _Made(NamedTuple):
    """A plan, and what it was made from."""

    listed: tuple[TopologySpreadConstraint, ...]
    selector: Selector | None
    spec: PodSpec
    plan: Plan

    def serves(
        self,
        listed: tuple[TopologySpreadConstraint, ...],
        selector: Selector | None,
        spec: PodSpec,
    ) -> bool:
        return (
            self.listed == listed
            and self.selector == selector
            and self.spec.node_selector == spec.node_selector
            and self.spec.affinity == spec.affinity
            and self.spec.tolerations == spec.tolerations
        )


class Plans:
    """The last plan of each group of pods, under one profile."""

    __slots__ = ("_made", "selectors")

    def __init__(self) -> None:
        self.selectors = DefaultSelectors()
        self._made: dict[LabelGroup, _Made] = {}

    def of(
        self,
        pod: Pod,
        group: LabelGroup,
        listed: tuple[TopologySpreadConstraint, ...],
        selector: Selector | None,
        needs_all_keys: bool,
    ) -> Plan:
        """The plan for a pod; `selector`, where given, takes the place of the constraints' own."""
        made = self._made.get(group)
        if made is None or not made.serves(listed, selector, pod.spec):
            if len(self._made) >= _KEPT:
                self._made.clear()
            plan = compile_plan(pod, listed, selector, needs_all_keys)
            made = self._made[group] = _Made(listed, selector, pod.spec, plan)
        return made.plan
