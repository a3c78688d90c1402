"""Pods and pod templates."""

from collections.abc import Iterable
from typing import Any, Final

from moorage.memory.error_messages import invalid_value, not_allowed, required
from moorage.memory.validation import placement_rules
from moorage.memory.validation.field_causes import (
    Causes,
    amount,
    check_amount,
    check_choice,
    check_dns_label,
    check_not_negative,
    check_subdomain,
    duplicate,
    missing_reference,
    unsupported,
)
from moorage.watch.api_server import Raw

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
_LONGEST_DEADLINE: Final = 2**31 - 1
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def check_pod_spec(field: str, spec: Raw) -> Causes:
    """The spec of a pod, or of a template, with its defaults."""
    volumes = [volume.get("name") for volume in spec.get("volumes") or ()]
    yield from _volumes(f"{field}.volumes", spec.get("volumes") or ())
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    seen: set[Any] = set()
    host_network = bool(spec.get("hostNetwork"))
    ports: set[tuple[Any, ...]] = set()
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            where = f"{field}.{group}[{index}]"
            yield from _container(where, container, volumes, host_network)
            if container.get("name") in seen:
                yield duplicate(f"{where}.name", container["name"])
            seen.add(container.get("name"))
            if group == "containers":
                yield from _host_ports(where, container, ports)
    yield from check_choice(f"{field}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    grace = spec.get("terminationGracePeriodSeconds")
    yield from check_not_negative(f"{field}.terminationGracePeriodSeconds", grace)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE:
        detail = f"must be between 1 and {_LONGEST_DEADLINE}, inclusive"
        yield invalid_value(f"{field}.activeDeadlineSeconds", deadline, detail)
    yield from check_subdomain(f"{field}.nodeName", spec.get("nodeName"))
    yield from check_choice(f"{field}.preemptionPolicy", spec.get("preemptionPolicy"), _POLICIES)
    yield from _gates(field, spec)
    yield from placement_rules.check_placement(field, spec)


def _gates(field: str, spec: Raw) -> Causes:
    names = [gate.get("name") for gate in spec.get("schedulingGates") or ()]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"{field}.schedulingGates[{index}]", name)
    if names and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield not_allowed(f"{field}.nodeName", detail)


def _volumes(field: str, volumes: Iterable[Raw]) -> Causes:
    seen: set[Any] = set()
    for index, volume in enumerate(volumes):
        where, name = f"{field}[{index}]", volume.get("name")
        yield from check_dns_label(f"{where}.name", name)
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.add(name)
        sources = [each for each in volume if each != "name" and volume[each] is not None]
        if len(sources) > 1:
            detail = "may not specify more than 1 volume type"
            first = sorted(sources)[0]
            for other in sources:
                if other != first:
                    yield not_allowed(f"{where}.{other}", detail)
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            yield required(f"{where}.persistentVolumeClaim.claimName")


def _container(field: str, container: Raw, volumes: list[Any], host_network: bool) -> Causes:
    yield from check_dns_label(f"{field}.name", container.get("name"))
    if not container.get("image"):
        yield required(f"{field}.image")
    for index, port in enumerate(container.get("ports") or ()):
        yield from _port(f"{field}.ports[{index}]", port, host_network)
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{field}.env[{index}].name")
    for group, path in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        yield from _mounts(f"{field}.{group}", container.get(group) or (), path, volumes)
    yield from _resources(f"{field}.resources", container.get("resources") or {})


def _mounts(field: str, mounts: Iterable[Raw], path: str, volumes: list[Any]) -> Causes:
    """Volumes by name, each at a path of its own: mounted, or as block devices."""
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name, at = f"{field}[{index}]", mount.get("name") or "", mount.get(path) or ""
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield missing_reference(f"{where}.name", name)
        if not at:
            yield required(f"{where}.{path}")
        if at in paths:
            yield invalid_value(f"{where}.{path}", at, "must be unique")
        paths.add(at)


def _port(field: str, port: Raw, host_network: bool) -> Causes:
    number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
    if number == 0:
        yield required(f"{field}.containerPort")
    elif not 1 <= number <= 65535:
        yield _out_of_range(f"{field}.containerPort", number)
    if host and not 1 <= host <= 65535:
        yield _out_of_range(f"{field}.hostPort", host)
    if host_network and host != number:
        detail = "must match `containerPort` when `hostNetwork` is true"
        yield invalid_value(f"{field}.hostPort", host, detail)
    if port.get("protocol") not in _PROTOCOLS:
        yield unsupported(f"{field}.protocol", port.get("protocol") or "", _PROTOCOLS)


def _out_of_range(field: str, number: int) -> str:
    return invalid_value(field, number, "must be between 1 and 65535, inclusive")


def _host_ports(field: str, container: Raw, seen: set[tuple[Any, ...]]) -> Causes:
    for index, port in enumerate(container.get("ports") or ()):
        if not port.get("hostPort"):
            continue
        taken = (port.get("protocol"), port.get("hostIP") or "", port["hostPort"])
        if taken in seen:
            text = "/".join(str(part) for part in taken)
            yield duplicate(f"{field}.ports[{index}].hostPort", text)
        seen.add(taken)


def _resources(field: str, resources: Raw) -> Causes:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            yield from _resource(f"{field}.{part}[{name}]", name, value)
    for name, value in requests.items():
        asked, limit = amount(value), amount(limits.get(name, ""))
        if asked is None or limit is None:
            if name not in limits and not _overcommits(name):
                detail = "Limit must be set for non overcommitable resources"
                yield required(f"{field}.limits", detail)
        elif not _overcommits(name) and asked != limit:
            detail = f"must be equal to {name} limit of {limits[name]}"
            yield invalid_value(f"{field}.requests", str(value), detail)
        elif limit < asked:
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid_value(f"{field}.requests", str(value), detail)


def _resource(field: str, name: str, value: Any) -> Causes:
    if "/" not in name and name not in _OF_CONTAINERS and not name.startswith("hugepages-"):
        for detail in (
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ):
            yield invalid_value(field, name, detail)
    parsed = amount(value)
    yield from check_amount(field, value)
    if parsed is not None and not _overcommits(name) and parsed.milli_value % 1000:
        yield invalid_value(field, f"{parsed.milli_value}m", "must be an integer")


def _overcommits(name: str) -> bool:
    """Whether limits of a resource may exceed requests: native resources other than huge pages."""
    if name.startswith("hugepages-"):
        return False
    return "/" not in name or name.partition("/")[0].endswith("kubernetes.io")
