"""What the search found, as a claim's status has it."""

from collections.abc import Callable, Iterable

from moorage.api import quantity
from moorage.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.api.meta import json_data
from moorage.api.resource_claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from moorage.devices.allocator import Found, Pick
from moorage.devices.requests import Wanted

FROM_CLASS = "FromClass"
FROM_CLAIM = "FromClaim"


def allocation_result(
    claim: ResourceClaim, found: Found, node: str, share_id: Callable[[], str]
) -> AllocationResult:
    """The allocation of one claim on a node; each share of a device gets an id of its own."""
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple(_result(pick, share_id) for pick in found.picks),
            config=tuple(_configurations(claim, found.chosen)),
        ),
        node_selector=_node_selector(found.picks, node),
    )


def _result(pick: Pick, share_id: Callable[[], str]) -> DeviceRequestAllocationResult:
    wanted, device = pick.wanted, pick.device
    consumed = pick.consumed or {}
    return DeviceRequestAllocationResult(
        request=wanted.full_name,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        admin_access=True if wanted.admin_access else None,
        tolerations=wanted.tolerations,
        binding_conditions=device.device.binding_conditions,
        binding_failure_conditions=device.device.binding_failure_conditions,
        share_id=None if pick.consumed is None else share_id(),
        consumed_capacity={name: quantity.format(amount) for name, amount in consumed.items()},
    )


def _configurations(
    claim: ResourceClaim, chosen: list[Wanted]
) -> Iterable[DeviceAllocationConfiguration]:
    """Configurations of classes, once each, then those of the claim for the chosen requests.

    A configuration that applies to every request names none.
    """
    by_class: dict[str, list[Wanted]] = {}
    for wanted in chosen:
        by_class.setdefault(wanted.cls.name, []).append(wanted)
    for users in by_class.values():
        names = tuple(wanted.full_name for wanted in users)
        for config in users[0].cls.spec.config:
            yield DeviceAllocationConfiguration(
                source=FROM_CLASS,
                requests=_unless_all(names, chosen),
                opaque=config.opaque,
            )
    for own in claim.spec.devices.config:
        concerned = not own.requests or any(set(own.requests) & set(w.names) for w in chosen)
        if concerned:
            yield DeviceAllocationConfiguration(
                source=FROM_CLAIM,
                requests=_unless_all(own.requests, chosen),
                opaque=own.opaque,
            )


def _unless_all(names: tuple[str, ...], chosen: list[Wanted]) -> tuple[str, ...]:
    return () if all(set(names) & set(wanted.names) for wanted in chosen) else names


def _node_selector(picks: list[Pick], node: str) -> NodeSelector | None:
    """The nodes that reach all devices: one node, those that all selectors match, or all."""
    fields: list[NodeSelectorRequirement] = []
    labels: list[NodeSelectorRequirement] = []
    for pick in picks:
        spec, own = pick.device.entry.slice.spec, pick.device.device
        per_device = bool(spec.per_device_node_selection)
        name = own.node_name if per_device else spec.node_name
        selector = own.node_selector if per_device else spec.node_selector
        if name is not None or own.binds_to_node:
            return _only(node)
        if selector is not None and selector.node_selector_terms:
            term = selector.node_selector_terms[0]
            _add_new(fields, term.match_fields)
            _add_new(labels, term.match_expressions)
    if not fields and not labels:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(labels), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _only(node: str) -> NodeSelector:
    by_name = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(by_name,)),))


def _add_new(
    known: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for each in added:
        if not any(_says_the_same(each, other) for other in known):
            known.append(each)


def _says_the_same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    return (
        one.key == other.key
        and one.operator == other.operator
        and set(one.values) == set(other.values)
    )


def as_status(allocation: AllocationResult) -> dict[str, object]:
    """The allocation as it is written to the API server."""
    written: dict[str, object] = json_data(allocation)
    return written
