"""A configuration with the arguments of one plugin: as completed, and what is wrong with it."""

from typing import Any

from moorage.config.field_errors import ConfigError
from moorage.config.loader import load
from moorage.config.resolved_profile import resolve

AT = "profiles[0].pluginConfig[0].args."
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def document(plugin: str, args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}],
    }


def completed(plugin: str, args: Any) -> dict[str, Any]:
    (profile,) = load(document(plugin, args)).configuration.profiles
    return resolve(profile).args[plugin]


def problems(plugin: str, args: Any) -> list[str]:
    """What is wrong with the arguments, without the place they all share."""
    try:
        load(document(plugin, args))
    except ConfigError as error:
        return [str(problem).removeprefix(AT) for problem in error.problems]
    return []


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
