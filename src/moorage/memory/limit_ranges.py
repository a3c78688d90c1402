"""The LimitRanger admission plugin: default requests and limits of containers, min and max."""

from collections.abc import Iterator

from moorage.api import quantity
from moorage.memory import error_messages
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw


def container_limits(limit_range: Raw) -> Iterator[Raw]:
    """The container limits of a LimitRange, with the defaults that follow from min and max."""
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") != "Container":
            continue
        defaults = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {
            **(limit.get("min") or {}),
            **defaults,
            **(limit.get("defaultRequest") or {}),
        }
        yield {**limit, "default": defaults, "defaultRequest": requests}


def with_default_resources(spec: Raw, limits: list[Raw]) -> Raw:
    """The spec with default requests and limits for containers that set none."""
    if not limits:
        return spec
    filled = {**spec}
    for group in ("containers", "initContainers"):
        if spec.get(group):
            filled[group] = [_filled(container, limits) for container in spec[group]]
    return filled


def _filled(container: Raw, limits: list[Raw]) -> Raw:
    resources = container.get("resources") or {}
    requests, most = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    for limit in limits:
        requests = {**limit["defaultRequest"], **requests}
        most = {**limit["default"], **most}
    return {**container, "resources": {**resources, "requests": requests, "limits": most}}


def check_bounds(metadata: Raw, spec: Raw, limits: list[Raw]) -> None:
    """Refuse a pod with a container below the min or above the max."""
    causes = [
        cause
        for group in ("containers", "initContainers")
        for container in spec.get(group) or ()
        for limit in limits
        for cause in _out_of_bounds(container.get("resources") or {}, limit)
    ]
    if causes:
        why = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
        raise error_messages.forbidden(PODS, metadata, why)


def _out_of_bounds(resources: Raw, limit: Raw) -> Iterator[str]:
    for word, bound, part, said in (
        ("minimum", "min", "requests", "request"),
        ("maximum", "max", "limits", "limit"),
    ):
        given = resources.get(part) or {}
        for name, value in (limit.get(bound) or {}).items():
            if name not in given:
                yield f"{word} {name} usage per Container is {value}.  No {said} is specified"
                continue
            asked, edge = quantity.parse(str(given[name])), quantity.parse(str(value))
            if (asked < edge) if bound == "min" else (edge < asked):
                yield f"{word} {name} usage per Container is {value}, but {said} is {given[name]}"
