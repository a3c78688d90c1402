"""A control plane with everything in it that the manifests refer to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.tools import Raw, of_kind, program, rendered, run
from tests.integration.control_plane import MISSING, ControlPlane, assets
from tests.integration.grouping import ALL_DIALECTS

ACCOUNT = "/api/v1/namespaces/moorage-system/serviceaccounts/moorage/token"
CERT_MANAGER = "cert-manager.io"
NAMESPACES = ("moorage-system", "monitoring")


def permissive(plural: str, kind: str, group: str = "monitoring.coreos.com") -> Raw:
    """A kind of the Prometheus operator's, or cert-manager's, without its rules."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server that knows the custom resources and has the namespaces."""
    programs = assets()
    if programs is None:
        pytest.skip(MISSING)
    program("kubectl")
    with ControlPlane(programs, tmp_path_factory.mktemp("cluster"), *ALL_DIALECTS) as plane:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        plane.request("POST", path, permissive("servicemonitors", "ServiceMonitor"))
        plane.request("POST", path, permissive("prometheusrules", "PrometheusRule"))
        for kind in ("Issuer", "Certificate"):
            plane.request("POST", path, permissive(f"{kind.lower()}s", kind, CERT_MANAGER))
        for name in NAMESPACES:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            plane.request("POST", "/api/v1/namespaces", namespace)
        apply(plane, rendered("crds"))
        crds = [f"crd/{name}.scheduling.x-k8s.io" for name in ("podgroups", "elasticquotas")]
        crds += [
            f"crd/{name}.monitoring.coreos.com" for name in ("servicemonitors", "prometheusrules")
        ]
        crds += [f"crd/{name}.{CERT_MANAGER}" for name in ("issuers", "certificates")]
        kubectl(plane, "wait", "--for=condition=Established", "--timeout=20s", *crds)
        yield plane


def kubectl(plane: ControlPlane, *arguments: str, text: str | None = None) -> str:
    return run(program("kubectl"), f"--kubeconfig={plane.kubeconfig}", *arguments, text=text)


def apply(plane: ControlPlane, manifests: str, *flags: str) -> str:
    """Have the API server take manifests, field by field as they are."""
    common = ("--server-side", "--force-conflicts", "--validate=strict", "-f", "-")
    return kubectl(plane, "apply", *common, *flags, text=manifests)


@pytest.fixture(scope="session")
def account(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig of the scheduler's own service account, with the rights of the base and what
    holds it to them."""
    kinds = (
        *("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    )
    rights = [obj for kind in kinds for obj in of_kind("base", kind)]
    apply(cluster, yaml.safe_dump_all(rights))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = cluster.request("POST", ACCOUNT, review)["status"]["token"]
    file = tmp_path_factory.mktemp("account") / "kubeconfig.yaml"
    return cluster.write_kubeconfig(file, cluster.url, token)
