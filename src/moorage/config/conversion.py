"""Conversion of older versions of the configuration, and of misplaced settings, to v1.

`convert` works on plain values, before they are decoded. Nothing is dropped without a warning.
"""

from typing import Any, Final, NamedTuple

import msgspec

from moorage.config import plugin_args
from moorage.config.field_errors import Path, Report, unsupported
from moorage.config.types import API_VERSION, PluginConfig, Profile

_GROUP: Final = "kubescheduler.config.k8s.io"
OLDER: Final = (f"{_GROUP}/v1beta3", f"{_GROUP}/v1beta2")
_CONVERTED: Final = {
    f"{_GROUP}/v1beta3": "deprecated and converted to v1",
    f"{_GROUP}/v1beta2": (
        "deprecated and converted to v1; default weights are those of v1 "
        "(TaintToleration 3, NodeAffinity 2, InterPodAffinity 2; v1beta2 had 1)"
    ),
}
_GONE: Final = ("healthzBindAddress", "metricsBindAddress")


class Removed(NamedTuple):
    """A plugin that kube-scheduler no longer has: its replacement, and advice."""

    instead: str | None
    advice: str


_LIMITS: Final = Removed("NodeVolumeLimits", "NodeVolumeLimits counts the volumes of every driver")
_SCORER: Final = "NodeResourcesFit scores by its scoringStrategy"
REMOVED: Final = {
    "AzureDiskLimits": _LIMITS,
    "CinderLimits": _LIMITS,
    "EBSLimits": _LIMITS,
    "GCEPDLimits": _LIMITS,
    "NodeResourcesLeastAllocated": Removed("NodeResourcesFit", _SCORER),
    "NodeResourcesMostAllocated": Removed("NodeResourcesFit", _SCORER),
    "RequestedToCapacityRatio": Removed("NodeResourcesFit", _SCORER),
    "NodeLabel": Removed(None, "use NodeAffinity's addedAffinity"),
    "NodePreferAvoidPods": Removed(None, "taint the nodes with effect PreferNoSchedule"),
    "SelectorSpread": Removed(None, "PodTopologySpread spreads by default"),
    "ServiceAffinity": Removed(None, "use inter-pod affinity"),
}
_STRATEGIES: Final = {
    "NodeResourcesLeastAllocated": plugin_args.LEAST_ALLOCATED,
    "NodeResourcesMostAllocated": plugin_args.MOST_ALLOCATED,
    "RequestedToCapacityRatio": plugin_args.REQUESTED_TO_CAPACITY_RATIO,
}


def convert(value: dict[str, Any], report: Report) -> dict[str, Any]:
    """Return the configuration in v1, with a warning for each change."""
    version = value.get("apiVersion")
    if version not in (API_VERSION, *OLDER):
        report.problem(("apiVersion",), unsupported(version or "", (API_VERSION, *OLDER)))
    out = {**value, "apiVersion": API_VERSION}
    for name in _GONE:
        if out.pop(name, None) is not None:
            detail = "ignored: the command line says where health and metrics are served"
            report.warn((name,), detail)
    _hoist_extenders(out, report)
    if isinstance(version, str) and version in _CONVERTED:
        report.warn(("apiVersion",), f"{version} is {_CONVERTED[version]}")
    return out


def _hoist_extenders(value: dict[str, Any], report: Report) -> None:
    """Move extenders from inside profiles to the top level, without duplicates."""
    profiles = value.get("profiles")
    if not isinstance(profiles, list) or not isinstance(value.get("extenders") or [], list):
        return
    value["profiles"] = profiles = list(profiles)
    for i, profile in enumerate(profiles):
        if isinstance(profile, dict) and isinstance(profile.get("extenders"), list):
            profiles[i] = {key: inner for key, inner in profile.items() if key != "extenders"}
            _hoist(profile["extenders"], value, report, ("profiles", i, "extenders"))


def _hoist(misplaced: list[Any], value: dict[str, Any], report: Report, path: Path) -> None:
    report.warn(path, "moved to the top: all profiles share the extenders")
    value["extenders"] = extenders = list(value.get("extenders") or [])
    for i, extender in enumerate(misplaced):
        if extender not in extenders:
            report.places.move((*path, i), ("extenders", len(extenders)))
            extenders.append(extender)


def adopt_strategy(profile: Profile, report: Report, path: Path) -> Profile:
    """Turn a removed plugin that scored by resources into NodeResourcesFit's scoringStrategy.

    A strategy in NodeResourcesFit's own arguments takes precedence.
    """
    enabled = (*profile.plugins.score.enabled, *profile.plugins.multi_point.enabled)
    scorer = next((ref.name for ref in enabled if ref.name in _STRATEGIES), None)
    configs = [*profile.plugin_config]
    at = {config.name: i for i, config in reversed([*enumerate(configs)])}
    if "NodeResourcesFit" not in at:
        at["NodeResourcesFit"] = len(configs)
        configs.append(PluginConfig("NodeResourcesFit"))
    fit = at["NodeResourcesFit"]
    args = configs[fit].args
    if scorer is None or "scoringStrategy" in args:
        return profile
    given: dict[str, Any] = {}
    if scorer in at:
        given, origin = configs[at[scorer]].args, (*path, "pluginConfig", at[scorer], "args")
        report.places.move(origin, (*path, "pluginConfig", fit, "args", "scoringStrategy"))
    args = {**args, "scoringStrategy": _strategy(scorer, given)}
    configs[fit] = PluginConfig("NodeResourcesFit", args)
    return msgspec.structs.replace(profile, plugin_config=tuple(configs))


def _strategy(scorer: str, args: dict[str, Any]) -> dict[str, Any]:
    strategy: dict[str, Any] = {"type": _STRATEGIES[scorer]}
    if "resources" in args:
        strategy["resources"] = args["resources"]
    if scorer == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": args.get("shape", [])}
    return strategy
