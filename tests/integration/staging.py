"""Cases of the conformance vectors, brought to life on a real API server.

What an API server decides itself is said its way: a priority by a PriorityClass, when a pod started
by its status. The rest is created as it is written, in the order it is written in.
"""

import contextlib
import copy
from collections.abc import Iterable, Iterator
from typing import Any

from tests.integration.control_plane import ControlPlane, Refused, ask, path_of
from tests.integration.making import OURS, Raw

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Stage:
    """One case after the other, each on an empty cluster."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._connection = plane.connect()

    def close(self) -> None:
        self._connection.close()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        return ask(self._connection, self._plane.token, method, path, body)

    def prepare(self, cases: Iterable[Raw]) -> None:
        """Create what the cases share: namespaces and priority classes."""
        every = list(cases)
        for made in _named(namespace for case in every for namespace in case["namespaces"]):
            name = made["metadata"]["name"]
            self._create({"apiVersion": "v1", "kind": "Namespace", **made}, missing_ok=True)
            labels = {"metadata": {"labels": made["metadata"].get("labels", {})}}
            self.request("PATCH", f"/api/v1/namespaces/{name}", labels)
        pods = [pod for case in every for pod in (*case["pods"], case["pod"])]
        for made in _named(priority_class(pod) for pod in pods):
            self._create(made)

    def set(self, case: Raw) -> None:
        """Create nodes, budgets and the pods that run."""
        for node in case["nodes"]:
            self._create({"apiVersion": "v1", "kind": "Node", **node})
        for budget in case.get("podDisruptionBudgets", ()):
            made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget}
            self._create(made)
            self._write_status(made)
        for pod in case["pods"]:
            self._create(as_created(pod, "nobody"))
            self._write_status(pod)

    def enter(self, pod: Raw) -> None:
        """Create the pod to schedule."""
        self._create(as_created(pod, OURS))

    def strike(self) -> None:
        """Delete everything that belongs to the case."""
        for namespace in self.request("GET", "/api/v1/namespaces")["items"]:
            where = f"namespaces/{namespace['metadata']['name']}"
            self.request("DELETE", f"/api/v1/{where}/pods?gracePeriodSeconds=0")
            self.request("DELETE", f"/apis/policy/v1/{where}/poddisruptionbudgets")
        self.request("DELETE", "/api/v1/nodes")

    def pods(self) -> dict[str, Raw]:
        """Every pod there is, by namespace and name."""
        items = self.request("GET", "/api/v1/pods")["items"]
        return {key(pod): pod for pod in items}

    def finish(self, keys: Iterable[str]) -> None:
        """Say, as a kubelet does, that the containers of these pods have stopped."""
        for name in keys:
            namespace, _, pod = name.partition("/")
            path = f"/api/v1/namespaces/{namespace}/pods/{pod}?gracePeriodSeconds=0"
            with contextlib.suppress(Refused):
                self.request("DELETE", path)

    def _create(self, obj: Raw, missing_ok: bool = False) -> None:
        try:
            self.request("POST", path_of(obj), obj)
        except Refused as refused:
            if not (missing_ok and refused.status == 409):
                raise

    def _write_status(self, obj: Raw) -> None:
        where = path_of({"apiVersion": "v1", "kind": "Pod", **obj})
        path = f"{where}/{obj['metadata']['name']}/status"
        self.request("PATCH", path, {"status": obj.get("status", {})})


def key(pod: Raw) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def priority_class(pod: Raw) -> Raw:
    """What gives a pod the priority, and the leave to preempt, that it has in the case."""
    value = pod["spec"].get("priority", 0)
    policy = pod["spec"].get("preemptionPolicy", "PreemptLowerPriority")
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"{policy}{value}".lower().replace("-", "-minus-")},
        "value": value,
        "preemptionPolicy": policy,
    }


def as_created(pod: Raw, scheduler: str) -> Raw:
    """A pod as a client writes it: what the API server gives is left to it."""
    made = copy.deepcopy(pod)
    for given in ("uid", "creationTimestamp"):
        made["metadata"].pop(given, None)
    made.pop("status", None)
    made["spec"].pop("priority", None)
    made["spec"].pop("preemptionPolicy", None)
    made["spec"]["priorityClassName"] = priority_class(pod)["metadata"]["name"]
    made["spec"]["schedulerName"] = scheduler
    return {"apiVersion": "v1", "kind": "Pod", **made}


def _named(objects: Iterable[Raw]) -> Iterator[Raw]:
    """One object of each name."""
    return iter({obj["metadata"]["name"]: obj for obj in objects}.values())
