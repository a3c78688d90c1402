"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, Jobs, CronJobs."""

import json
from typing import Final

import msgspec

from moorage.api import selectors
from moorage.api.label_requirements import SelectorError
from moorage.api.meta import LabelSelector
from moorage.memory import pod_defaults
from moorage.memory.error_messages import invalid_value, required
from moorage.memory.validation import pod_rules
from moorage.memory.validation.field_causes import (
    Causes,
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


def check_workload(raw: Raw) -> Causes:
    """A workload whose pods run for ever."""
    kind, spec = raw["kind"], raw.get("spec") or {}
    yield from check_not_negative("spec.replicas", spec.get("replicas"))
    yield from check_not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    template = spec.get("template") or {}
    yield from _selects(kind, spec, template)
    yield from check_template("spec.template", template)
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))


def check_template(field: str, template: Raw) -> Causes:
    """A pod template."""
    metadata = template.get("metadata") or {}
    yield from check_labels(f"{field}.labels", metadata.get("labels"))
    spec = pod_defaults.fill_pod_defaults(template.get("spec") or {})
    yield from pod_rules.check_pod_spec(f"{field}.spec", spec)


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
    """A Job."""
    yield from check_job_spec("spec", raw.get("spec") or {})


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
