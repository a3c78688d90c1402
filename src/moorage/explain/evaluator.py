"""Decides one case in full, for `moorage evaluate` and the parity tests."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from moorage.api import mismatch
from moorage.api.decode import decode_as, decode_object
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app.built_in_plugins import describe_plugins
from moorage.cache.cache import Cache
from moorage.config.default_plugins import SCHEDULER_NAME
from moorage.config.loader import load
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.config.required_points import UnpreparedPlugins
from moorage.config.resolved_profile import resolve
from moorage.cycle import filtering, profile, scoring
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.plugin import Plugin
from moorage.framework.verdicts import NoNodesError, PluginError, Rejection
from moorage.guard.guards import Guards
from moorage.preemption import plugin

KINDS = {
    "namespaces": "Namespace",
    "persistentVolumes": "PersistentVolume",
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "csiNodes": "CSINode",
    "csiDrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
    "services": "Service",
    "replicaSets": "ReplicaSet",
    "replicationControllers": "ReplicationController",
    "statefulSets": "StatefulSet",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "priorityClasses": "PriorityClass",
    "deviceClasses": "DeviceClass",
    "resourceSlices": "ResourceSlice",
    "deviceTaintRules": "DeviceTaintRule",
    "resourceClaims": "ResourceClaim",
}

_Objects = list[dict[str, Any]] | None
_Case = msgspec.defstruct(
    "_Case",
    [
        ("pod", dict[str, Any]),
        ("id", Any, None),
        ("config", dict[str, Any] | None, None),
        ("featureGates", dict[str, bool] | None, None),
        *((field, _Objects, None) for field in ("nodes", "pods", "nominated", *KINDS)),
    ],
    forbid_unknown_fields=True,
)

_NO_PREEMPTION = {"eligible": False, "candidates": {}, "chosen": []}

_EMPTY_CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


class CaseError(ValueError):
    """A case that cannot be read; the text names the field and what is expected there."""


def evaluate(case: Mapping[str, Any], known: Mapping[str, type[Plugin]]) -> dict[str, Any]:
    """What would be decided about `case["pod"]`, in the shape of the conformance vectors."""
    _check_case(case)
    cache = cache_from_case(case)
    pod = decode_as(case["pod"], Pod)
    name = pod.spec.scheduler_name or SCHEDULER_NAME
    chosen = _profile(case.get("config"), known, name)
    cycle = Cycle(cache, cache.info(pod), now=time.time(), shared=chosen.shared)
    return {"id": case.get("id"), **_outcome(chosen, cycle)}


def _check_case(case: Mapping[str, Any]) -> None:
    try:
        msgspec.convert(case, _Case)
    except msgspec.ValidationError as error:
        path, problem = mismatch.explain_mismatch(str(error), case)
        raise CaseError(f"{path}: {problem}" if path else problem) from None


def cache_from_case(case: Mapping[str, Any]) -> Cache:
    """A cache that holds the case's cluster."""
    cache = Cache()
    for field, kind in KINDS.items():
        for raw in case.get(field) or ():
            cache.objects.put(decode_object(raw, kind))
    for raw in case.get("nodes") or ():
        cache.put_node(decode_as(raw, Node))
    for raw in case.get("pods") or ():
        pod = decode_as(raw, Pod)
        if not pod.is_terminal:
            cache.put_pod(pod)
    for raw in case.get("nominated") or ():
        nominated = decode_as(raw, Pod)
        cache.nominations.put(cache.info(nominated), nominated.status.nominated_node_name)
    return cache


def _profile(config: Any, known: Mapping[str, type[Plugin]], scheduler_name: str) -> Profile:
    described = describe_plugins(known)
    loaded = load(
        config or _EMPTY_CONFIG,
        known=described,
        source="config",
        unprepared_plugins=UnpreparedPlugins.FAIL,
    )
    profiles = loaded.configuration.profiles
    wanted = next((p for p in profiles if p.scheduler_name == scheduler_name), None)
    if wanted is None:
        message = 'no profile of the configuration is for schedulerName "{}"'
        raise ValueError(message.format(scheduler_name))
    guards = Guards(NO_LIMITS, scheduler_name)
    return profile.build(resolve(wanted, described), known, guards=guards)


def _outcome(chosen: Profile, cycle: Cycle) -> dict[str, Any]:
    if not len(cycle.table):
        return {"feasible": [], "message": str(NoNodesError()), "preemption": dict(_NO_PREEMPTION)}
    found = filtering.run(chosen, cycle)
    diagnosis = filtering.diagnose(chosen, cycle, found)
    outcome: dict[str, Any] = {"feasible": [], "rejected": {}}
    if diagnosis.pre_filter is not None:
        outcome["preFilter"] = _rejection(diagnosis.pre_filter)
    else:
        outcome["rejected"] = _rejected(diagnosis)
        outcome["feasible"] = _names(cycle, found)
    if outcome["feasible"]:
        scores = _scores(chosen, cycle, found)
        return outcome | scores | _allocations(chosen, cycle, outcome["feasible"])
    outcome["message"] = diagnosis.message()
    outcome["preemption"] = _preemption(chosen, cycle, found, diagnosis)
    return outcome


def _scores(chosen: Profile, cycle: Cycle, found: Filtering) -> dict[str, Any]:
    scored = scoring.run(chosen, cycle, found.feasible, keep=True)
    positions = range(scored.nodes.count)
    names = [scored.nodes.node(position).name for position in positions]
    return {
        "scores": {name: scored.of(position) for position, name in enumerate(names)},
        "totals": {name: scored.total(position) for position, name in enumerate(names)},
        "best": sorted(names[position] for position in scoring.best_positions(scored)),
    }


def _allocations(chosen: Profile, cycle: Cycle, names: list[str]) -> dict[str, Any]:
    """The devices that the pod's claims would get on each node, where it has claims."""
    state = cycle.state.get("DynamicResources")
    plugin = dict(chosen.reserve).get("DynamicResources")
    if state is None or plugin is None:
        return {}
    found = {}
    for name in names:
        node = cycle.table.node(cycle.table.row_of[name])
        try:
            plugin.reserve(cycle, cycle.pod, node)
            found[name] = _allocated(state)
        except PluginError as error:  # in the words of kube-scheduler's own
            found[name] = {"error": f'running Reserve plugin "{error.plugin}": {error.detail}'}
        plugin.unreserve(cycle, cycle.pod, node)
    return {"allocations": found}


def _allocated(state: Any) -> dict[str, Any]:
    """The allocation of each claim that has a name, and all devices; shares have no ids here."""
    claims, devices = {}, []
    for position, allocation in state.allocations.items():
        results = [
            msgspec.structs.replace(each, share_id="share") if each.share_id else each
            for each in allocation.devices.results
        ]
        plain = msgspec.structs.replace(allocation.devices, results=tuple(results))
        if state.claims[position] is not state.extended:
            whole = msgspec.structs.replace(allocation, devices=plain)
            claims[state.claims[position].key] = msgspec.json.decode(msgspec.json.encode(whole))
        devices += [
            f"{each.driver}/{each.pool}/{each.device}" for each in results if not each.admin_access
        ]
    return {"claims": claims, "devices": sorted(devices)}


def _rejected(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        diagnosis.table.node(row).name: _rejection(rejection)
        for row, rejection in diagnosis.rejections()
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "code": rejection.code.value,
        "plugin": rejection.plugin,
        "reasons": list(rejection.reasons),
    }


def _names(cycle: Cycle, found: Filtering) -> list[str]:
    rows: Iterable[int] = (row for row in cycle.table.row_of.values() if found.feasible[row])
    return sorted(cycle.table.node(row).name for row in rows)


def _preemption(
    chosen: Profile, cycle: Cycle, found: Filtering, diagnosis: Diagnosis
) -> dict[str, Any]:
    if not any(name == "DefaultPreemption" for name, _ in chosen.post_filter):
        return dict(_NO_PREEMPTION)
    cycle.refuses = filtering.RowFilters(cycle, found.active)
    outcome = plugin.evaluate(cycle, diagnosis)
    return {
        "eligible": outcome.eligible,
        "candidates": {
            node: {
                "victims": [pod.key for pod in victims.pods],
                "pdbViolations": victims.violations,
            }
            for node, victims in outcome.candidates.items()
        },
        "chosen": sorted(outcome.chosen),
    }
