"""Edits of a raw pod: requests, tolerations, selectors, affinity, spread, ports.

Every edit changes the raw pod in place and leaves a pod that the API server would accept: an
extended resource has equal request and limit, and an emptied selector is removed.
"""

from typing import Any

from moorage.api import quantity
from moorage.api.resource_amounts import format_amount, is_extended

Raw = dict[str, Any]


def spec_of(raw: Raw) -> Raw:
    spec: Raw = raw.setdefault("spec", {})
    return spec


def tolerate(raw: Raw, key: str, value: str, effect: str) -> None:
    """Add a toleration of one taint."""
    made = {"key": key, "operator": "Equal", "value": value, "effect": effect}
    if not value:
        made = {"key": key, "operator": "Exists", "effect": effect}
    spec_of(raw)["tolerations"] = [*(spec_of(raw).get("tolerations") or ()), made]


def drop_selector(raw: Raw, key: str) -> None:
    """Drop one key of the nodeSelector."""
    selector = dict(spec_of(raw).get("nodeSelector") or {})
    selector.pop(key, None)
    _set_or_remove(spec_of(raw), "nodeSelector", selector)


def node_terms(raw: Raw) -> list[Raw]:
    """The required node affinity terms, to be changed in place."""
    affinity = (spec_of(raw).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def drop_node_affinity(raw: Raw) -> None:
    """Drop the whole required node affinity."""
    affinity = spec_of(raw)["affinity"]
    affinity["nodeAffinity"].pop("requiredDuringSchedulingIgnoredDuringExecution")
    _prune(spec_of(raw), "affinity", "nodeAffinity")


def pod_terms(raw: Raw, kind: str) -> list[Raw]:
    """The required terms of podAffinity or podAntiAffinity."""
    affinity = (spec_of(raw).get("affinity") or {}).get(kind) or {}
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def drop_pod_terms(raw: Raw, kind: str, dropped: set[int]) -> None:
    """Drop some required terms of podAffinity or podAntiAffinity."""
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    kept = [term for i, term in enumerate(pod_terms(raw, kind)) if i not in dropped]
    _set_or_remove(spec_of(raw)["affinity"][kind], name, kept)
    _prune(spec_of(raw), "affinity", kind)


def drop_host_port(raw: Raw, container: int, port: int) -> None:
    """Drop the host port of a container's port."""
    found = spec_of(raw)["containers"][container]["ports"][port]
    found.pop("hostPort", None)
    found.pop("hostIP", None)


def cap_request(raw: Raw, resource: str, most: int) -> None:
    """Limit the sum of a resource's requests over the containers of a pod to `most`.

    The reduction is taken from the containers with the largest requests. The caller must subtract
    sidecars and overhead, which come on top, from `most`.
    """
    spec = spec_of(raw)
    whole = (spec.get("resources") or {}).get("requests") or {}
    if resource in whole:
        _set_request(spec, resource, most)
        return
    containers = [c for c in spec.get("containers") or () if request_of(c, resource)]
    excess = sum(request_of(c, resource) for c in containers) - most
    for container in sorted(containers, key=lambda c: -request_of(c, resource)):
        if excess <= 0:
            break
        taken = min(excess, request_of(container, resource))
        _set_request(container, resource, request_of(container, resource) - taken)
        excess -= taken
    for container in spec.get("initContainers") or ():
        if request_of(container, resource) > most and container.get("restartPolicy") != "Always":
            _set_request(container, resource, most)


def request_of(container: Raw, resource: str) -> int:
    """A container's request of a resource, which defaults to its limit."""
    resources = container.get("resources") or {}
    text = (resources.get("requests") or {}).get(resource)
    if text is None:
        text = (resources.get("limits") or {}).get(resource, "0")
    return quantity.milli_value(str(text)) if resource == "cpu" else quantity.value(str(text))


def _set_request(holder: Raw, resource: str, amount: int) -> None:
    resources = holder.setdefault("resources", {})
    resources.setdefault("requests", {})[resource] = format_amount(resource, amount)
    limits = resources.get("limits") or {}
    if resource in limits and (is_extended(resource) or resource.startswith("hugepages-")):
        limits[resource] = format_amount(resource, amount)
    if amount == 0 and (is_extended(resource) or resource.startswith("hugepages-")):
        resources["requests"].pop(resource)
        limits.pop(resource, None)


def _set_or_remove(holder: Raw, name: str, value: Any) -> None:
    if value:
        holder[name] = value
    else:
        holder.pop(name, None)


def _prune(spec: Raw, *path: str) -> None:
    """Remove fields that an edit left empty."""
    outer, inner = path
    if not spec[outer][inner]:
        spec[outer].pop(inner)
    if not spec[outer]:
        spec.pop(outer)
