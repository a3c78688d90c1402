"""The rights of the shipped roles, one by one: to be compared with requests, and taken away."""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from tests.deploy.tools import DEPLOY, Raw
from tests.integration.auditing import Asked
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import wait_for

USER = "system:serviceaccount:moorage-system:moorage"
SCOPES = {"ClusterRole": "clusterroles", "Role": "namespaces/moorage-system/roles"}
ROLES = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Right(NamedTuple):
    """One verb on one resource; on one object of it, where the role names it."""

    verb: str
    group: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        where = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {where}"

    def covers(self, asked: Asked) -> bool:
        """Whether a request is made by this right."""
        same = (asked.verb, asked.group, asked.resource) == (self.verb, self.group, self.resource)
        return same and self.name in ("", asked.name)


def rights_of(role: Raw) -> list[Right]:
    """Every right that a role gives."""
    return [
        Right(verb, group, resource, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]


def shipped() -> list[tuple[Raw, Right]]:
    """Each right of the base, with the role that gives it."""
    files = (DEPLOY / "base" / "cluster" / "cluster-role.yaml", DEPLOY / "base/scheduler/role.yaml")
    found = [role for file in files for role in yaml.safe_load_all(file.read_text())]
    return [(role, right) for role in found if role["kind"] in SCOPES for right in rights_of(role)]


@contextlib.contextmanager
def without(cluster: ControlPlane, role: Raw, right: Right) -> Iterator[None]:
    """Take one right away, for a while."""
    _put(cluster, role, [kept for kept in rights_of(role) if kept != right])
    try:
        _until(cluster, right, False)
        yield
    finally:
        _put(cluster, role, rights_of(role))
        _until(cluster, right, True)


def _put(cluster: ControlPlane, role: Raw, rights: list[Right]) -> None:
    path = f"{ROLES}/{SCOPES[role['kind']]}/{role['metadata']['name']}"
    body = {**role, "rules": [_rule(right) for right in rights]}
    cluster.request("PUT", path, body)


def _rule(right: Right) -> dict[str, list[str]]:
    rule = {"verbs": [right.verb], "apiGroups": [right.group], "resources": [right.resource]}
    return {**rule, "resourceNames": [right.name]} if right.name else rule


def _until(cluster: ControlPlane, right: Right, allowed: bool) -> None:
    """Wait until the API server has heard of it."""
    resource, _, part = right.resource.partition("/")
    about: dict[str, Any] = {"verb": right.verb, "group": right.group, "resource": resource}
    about |= {"subresource": part, "name": right.name, "namespace": "moorage-system"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": USER, "groups": [], "resourceAttributes": about},
    }

    def heard() -> bool:
        answer = cluster.request("POST", REVIEWS, review)["status"].get("allowed", False)
        return bool(answer) is allowed

    wait_for(heard, f"{right} is never {'given' if allowed else 'taken away'}")
