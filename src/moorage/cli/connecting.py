"""Which API server a command talks to, and as whom."""

import os
from pathlib import Path

from moorage.kube import incluster, kubeconfig
from moorage.kube.kubeconfig import KubeconfigError, Selected


def select(file: str, context: str) -> Selected:
    """The context that was asked for; or our own inside a pod; or that of the usual files."""
    if file:
        return kubeconfig.load([file], context)
    if incluster.is_inside() and not context:
        return incluster.load()
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = Path.home() / ".kube" / "config"
    found = [path for path in listed or [home] if path.is_file()]
    if not found:
        looked = os.pathsep.join(map(str, listed or [home]))
        raise KubeconfigError(looked, "", "no such file: name one with --kubeconfig FILE")
    return kubeconfig.load(found, context)
