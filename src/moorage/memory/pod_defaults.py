"""Defaults an API server fills into a pod spec."""

from typing import Any, Final

from moorage.watch.api_server import Raw

_DEFAULTS: Final = {
    "schedulerName": "default-scheduler",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
}


def fill_pod_defaults(spec: Raw) -> Raw:
    """A copy of the spec with defaults filled in."""
    filled = {**spec}
    for field, value in _DEFAULTS.items():
        if filled.get(field) in (None, ""):
            filled[field] = value
    if filled["terminationGracePeriodSeconds"] < 0:
        filled["terminationGracePeriodSeconds"] = 1
    host_network = bool(spec.get("hostNetwork"))
    for field in ("containers", "initContainers"):
        if containers := spec.get(field):
            filled[field] = [_container(each, host_network) for each in containers]
    if (spec.get("resources") or {}).get("limits"):
        filled["resources"] = _pod_resources(filled)
    return filled


def _container(container: Raw, host_network: bool) -> Raw:
    if resources := container.get("resources"):
        container = {**container, "resources": _resources(resources)}
    if ports := container.get("ports"):
        container = {**container, "ports": [_port(port, host_network) for port in ports]}
    return container


def _resources(resources: Raw) -> Raw:
    """Limits become missing requests, numbers become text, and an empty amount becomes 0."""
    requests = _texts(resources.get("requests") or {})
    limits = _texts(resources.get("limits") or {})
    filled = {**resources, "requests": {**limits, **requests}}
    return {**filled, "limits": limits} if limits else filled


def _texts(quantities: Raw) -> Raw:
    if all(isinstance(quantity, str) for quantity in quantities.values()):
        return quantities
    return {
        name: "0" if quantity is None else str(quantity) for name, quantity in quantities.items()
    }


def _port(port: Raw, host_network: bool) -> Raw:
    filled: dict[str, Any] = {"protocol": "TCP", **port}
    if host_network and not filled.get("hostPort"):
        filled["hostPort"] = filled.get("containerPort", 0)
    return filled


def _pod_resources(spec: Raw) -> Raw:
    """Pod-level requests: the limit applies if neither the pod nor a container has a request."""
    resources: Raw = spec["resources"]
    asked = {
        name
        for field in ("containers", "initContainers")
        for container in spec.get(field) or ()
        for name in (container.get("resources") or {}).get("requests") or ()
    }
    limits = {name: limit for name, limit in resources["limits"].items() if name not in asked}
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}}
