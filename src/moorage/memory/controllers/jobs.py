"""Jobs: as many pods as should run at a time, until enough have succeeded."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final

from moorage.memory.cluster_resources import JOBS
from moorage.memory.controllers import owned_pods, workload_template
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw

INDEX: Final = "batch.kubernetes.io/job-completion-index"
_BACKOFF_LIMIT: Final = 6


class JobController:
    """Creates pods for Jobs that are not suspended, finished or past their backoffLimit."""

    watches = (JOBS, PODS)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == JOBS:
            yield record.entry.key
        elif owned_pods.has_left(record):
            owner = owned_pods.owner_key(record.entry.raw)
            if owner is not None and owner[0] == JOBS.kind:
                yield f"{owner[1]}/{owner[2]}"

    def reconcile(self, key: str) -> None:
        job = self._client.find(JOBS, key)
        if job is None or "deletionTimestamp" in job["metadata"] or is_over(job):
            return
        pods = [entry.raw for entry in self._client.pods.of(workload_template.key_of(JOBS, job))]
        if job["spec"].get("suspend") or _failed(job, pods) > _limit(job):
            return
        active = [pod for pod in pods if owned_pods.is_active(pod)]
        missing = _parallel(job, pods) - len(active)
        names = self._names(job, pods)
        for _ in range(missing):
            name, index = next(names)
            if not self._client.create(PODS, _pod(job, name, index), f"Job {key}"):
                return

    def _names(self, job: Raw, pods: list[Raw]) -> Iterator[tuple[str, str]]:
        """Names of new pods, each with its completion index ("" if the Job is not Indexed)."""
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        indexed = job["spec"].get("completionMode") == "Indexed"
        at_work = {
            (pod["metadata"].get("annotations") or {}).get(INDEX)
            for pod in pods
            if owned_pods.is_active(pod) or _phase(pod) == "Succeeded"
        }
        for number in count():
            if self._client.find(PODS, f"{namespace}/{name}-{number}") is not None:
                continue
            if not indexed:
                yield f"{name}-{number}", ""
            elif str(number) not in at_work:
                yield f"{name}-{number}", str(number)


def is_over(job: Raw) -> bool:
    """Whether a Job is complete or has failed."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(
        each.get("type") in ("Complete", "Failed") and each.get("status") == "True"
        for each in conditions
    )


def _parallel(job: Raw, pods: list[Raw]) -> int:
    """How many pods should run now."""
    parallelism = workload_template.wanted(job, "parallelism")
    completions = job["spec"].get("completions")
    succeeded = _count(job, pods, "succeeded", "Succeeded")
    if completions is None:
        return 0 if succeeded else parallelism
    return min(parallelism, max(0, int(completions) - succeeded))


def _count(job: Raw, pods: list[Raw], field: str, phase: str) -> int:
    told = (job.get("status") or {}).get(field) or 0
    return max(int(told), sum(_phase(pod) == phase for pod in pods))


def _failed(job: Raw, pods: list[Raw]) -> int:
    return _count(job, pods, "failed", "Failed")


def _limit(job: Raw) -> int:
    return workload_template.wanted(job, "backoffLimit", _BACKOFF_LIMIT)


def _phase(pod: Raw) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _pod(job: Raw, name: str, index: str) -> Raw:
    uid, own = job["metadata"]["uid"], job["metadata"]["name"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": own,
        "controller-uid": uid,
        "job-name": own,
    }
    indexed = {INDEX: index} if index else {}
    return workload_template.pod_from(
        JOBS, job, name, labels={**labels, **indexed}, annotations=indexed
    )
