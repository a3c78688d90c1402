"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, Jobs, CronJobs."""

import json
from collections.abc import Iterable
from typing import Final

import msgspec

from moorage.api import selectors
from moorage.api.label_requirements import SelectorError
from moorage.api.meta import LabelSelector
from moorage.memory import pod_defaults
from moorage.memory.error_messages import invalid_value, not_allowed, required
from moorage.memory.validation import pod_rules, storage_rules
from moorage.memory.validation.field_causes import (
    Causes,
    check_choice,
    check_dns_label,
    check_labels,
    check_not_negative,
    check_selector,
    unsupported,
)
from moorage.watch.api_server import Raw

_NO_MATCH: Final = "`selector` does not match template `labels`"
_LONGEST_CRON_JOB_NAME: Final = 52
"""A Job's name, with the timestamp that is appended, then has at most 63."""
_NEED_A_SELECTOR: Final = ("Deployment", "ReplicaSet", "StatefulSet")
_OWNERS: Final = {
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
}
"""The owner of a workload's pods, where its pods may have no deadline."""
_POD_MANAGEMENT: Final = ("OrderedReady", "Parallel")
_GENERATED: Final = ("batch.kubernetes.io/job-name", "job-name")
"""The labels that an API server gives to a Job's pods: the Job's name."""


def check_workload(raw: Raw) -> Causes:
    """A workload whose pods run for ever."""
    kind, spec = raw["kind"], raw.get("spec") or {}
    yield from check_not_negative("spec.replicas", spec.get("replicas"))
    yield from check_not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    template = spec.get("template") or {}
    yield from _selects(kind, spec, template)
    yield from check_template("spec.template", template)
    pod = template.get("spec") or {}
    policy = pod.get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))
    owner = _OWNERS.get(kind)
    if owner and pod.get("activeDeadlineSeconds") is not None:
        field = "spec.template.spec.activeDeadlineSeconds"
        yield not_allowed(field, f"activeDeadlineSeconds in {owner} is not Supported")


def check_stateful_set(raw: Raw) -> Causes:
    """A StatefulSet: its pods may mount what its claim templates make."""
    spec = raw.get("spec") or {}
    management = spec.get("podManagementPolicy")
    if management not in (None, "", *_POD_MANAGEMENT):
        detail = f"must be '{_POD_MANAGEMENT[0]}' or '{_POD_MANAGEMENT[1]}'"
        yield invalid_value("spec.podManagementPolicy", management, detail)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for when in ("whenDeleted", "whenScaled"):
        field = f"spec.persistentVolumeClaimRetentionPolicy.{when}"
        yield from check_choice(field, retention.get(when), ("Retain", "Delete"))
    claims = spec.get("volumeClaimTemplates") or ()
    for index, claim in enumerate(claims):
        field = f"spec.volumeClaimTemplates[{index}].spec"
        yield from storage_rules.check_claim_spec(field, claim.get("spec") or {})
    start = (spec.get("ordinals") or {}).get("start")
    yield from check_not_negative("spec.ordinals.start", start)
    if spec.get("serviceName"):
        yield from check_dns_label("spec.serviceName", spec["serviceName"])
    yield from check_workload({**raw, "spec": _with_claims(spec, claims)})


def _with_claims(spec: Raw, claims: Iterable[Raw]) -> Raw:
    """The spec with a volume per claim template, which takes the place of one of that name.

    The StatefulSet controller gives these volumes to each pod.
    """
    names = list(dict.fromkeys((claim.get("metadata") or {}).get("name") for claim in claims))
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    volumes += [each for each in pod.get("volumes") or () if each.get("name") not in names]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": volumes}}}


def check_template(field: str, template: Raw) -> Causes:
    """A pod template."""
    metadata = template.get("metadata") or {}
    yield from check_labels(f"{field}.labels", metadata.get("labels"))
    spec = pod_defaults.fill_pod_defaults(template.get("spec") or {})
    yield from pod_rules.check_pod_spec(f"{field}.spec", spec)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        yield not_allowed(f"{field}.spec.ephemeralContainers", detail)


def _selects(kind: str, spec: Raw, template: Raw) -> Causes:
    """Whether the workload's selector is valid and selects its own pods."""
    given = spec.get("selector")
    labels = (template.get("metadata") or {}).get("labels")
    if kind == "ReplicationController":
        given = {"matchLabels": given if given else labels}
        if not labels and not spec.get("selector"):
            yield required("spec.selector")
            return
    causes = list(check_selector("spec.selector", given))
    yield from causes
    if given is None and kind in _NEED_A_SELECTOR:
        yield required("spec.selector")
    elif given is not None and not given.get("matchLabels") and not given.get("matchExpressions"):
        yield invalid_value("spec.selector", {}, f"empty selector is invalid for {kind.lower()}")
        return
    if not causes and not _matches(given, labels or {}):
        yield f"spec.template.metadata.labels: Invalid value: {_compact(labels)}: {_NO_MATCH}"


def _matches(selector: Raw | None, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    try:
        return selectors.matches_labels(msgspec.convert(selector, LabelSelector), labels)
    except (SelectorError, msgspec.ValidationError):
        return False


def _compact(labels: dict[str, str] | None) -> str:
    return json.dumps(labels, separators=(",", ":"), sort_keys=True)


def check_job(raw: Raw) -> Causes:
    """A Job; an API server labels its pods with its name, and makes the selector."""
    spec, name = raw.get("spec") or {}, raw["metadata"]["name"]
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    manual, selector = bool(spec.get("manualSelector")), spec.get("selector")
    if not manual:
        generated = {**dict.fromkeys(_GENERATED, name), **labels}
        if labels and not raw["metadata"].get("labels"):  # then a Job's labels are its pods'
            yield from check_labels("metadata.labels", generated)
        spec = {**spec, "template": {**template, "metadata": {"labels": generated}}}
        given = (selector or {}).get("matchLabels"), (selector or {}).get("matchExpressions")
        if any(given):
            yield invalid_value("spec.selector", selector, "`selector` not auto-generated")
    elif selector is None:
        yield required("spec.selector")
    yield from check_job_spec("spec", spec)
    if manual:
        yield from check_selector("spec.selector", selector)
        if not _matches(selector, labels):
            yield f"spec.template.metadata.labels: Invalid value: {_compact(labels)}: {_NO_MATCH}"


def check_job_spec(field: str, spec: Raw) -> Causes:
    """The spec of a Job, or of a CronJob's Jobs."""
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds"):
        yield from check_not_negative(f"{field}.{name}", spec.get(name))
    unnumbered = spec.get("parallelism") is not None and spec.get("completions") is None
    if spec.get("completionMode") == "Indexed" and unnumbered:
        detail = "when completion mode is Indexed"
        yield required(f"{field}.completions", detail)
    template = spec.get("template") or {}
    yield from check_template(f"{field}.template", template)
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in (None, "", "Always"):
        detail = 'valid values: "OnFailure", "Never"'
        yield required(f"{field}.template.spec.restartPolicy", detail)


def check_cron_job(raw: Raw) -> Causes:
    """A CronJob."""
    spec, name = raw.get("spec") or {}, raw["metadata"]["name"]
    if len(name) > _LONGEST_CRON_JOB_NAME:
        detail = f"must be no more than {_LONGEST_CRON_JOB_NAME} characters"
        yield invalid_value("metadata.name", name, detail)
    if not spec.get("schedule"):
        yield required("spec.schedule")
    inner = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from check_job_spec("spec.jobTemplate.spec", inner)
