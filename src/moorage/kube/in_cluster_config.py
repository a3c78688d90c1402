"""The in-cluster configuration: the service account that kubelet mounts into the pod."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moorage.kube.kubeconfig import Cluster, KubeconfigError, SelectedContext, User

MOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST: Final = "KUBERNETES_SERVICE_HOST"
PORT: Final = "KUBERNETES_SERVICE_PORT"


def runs_in_pod(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs in a pod."""
    return bool(environment.get(HOST) and environment.get(PORT))


def load_in_cluster_config(
    environment: Mapping[str, str] = os.environ, mount: Path = MOUNT
) -> SelectedContext:
    """The service account of this pod; its token is read again as kubelet renews it.

    Lists are not compressed: compressing one takes the server as long as writing it, and the
    cluster's network transfers it in less time.
    """
    if not runs_in_pod(environment):
        raise KubeconfigError("in-cluster", HOST, "not set: this process does not run in a pod")
    token = mount / "token"
    if not token.is_file():
        hint = "does the pod set automountServiceAccountToken: false?"
        raise KubeconfigError("in-cluster", str(token), f"no such file; {hint}")
    ca = mount / "ca.crt"
    host = environment[HOST]
    host = f"[{host}]" if ":" in host else host
    cluster = Cluster(
        server=f"https://{host}:{environment[PORT]}",
        certificate_authority=str(ca) if ca.is_file() else "",
        disable_compression=True,
    )
    return SelectedContext("in-cluster", "in-cluster", "", cluster, User(token_file=str(token)), "")
