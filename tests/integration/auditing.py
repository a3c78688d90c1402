"""Who asked an API server for what: its audit log, of everybody but the administrator.

A control plane started with `flags(home)` keeps it; `asked` reads it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["admin", "system:apiserver", "system:anonymous"]},
        {"level": "Metadata"},
    ],
}
OK, FORBIDDEN = 200, 403


class Asked(NamedTuple):
    """One request, in the words of a ClusterRole, and the status of its answer."""

    user: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    status: int
    uri: str


def flags(home: Path) -> tuple[str, ...]:
    """What to start kube-apiserver with."""
    home.mkdir(parents=True, exist_ok=True)
    policy = home / "audit-policy.yaml"
    policy.write_text(yaml.safe_dump(_POLICY))
    return (f"--audit-policy-file={policy}", f"--audit-log-path={_log(home)}")


def asked(home: Path, user: str = "", since: int = 0) -> Iterator[Asked]:
    """Every request of a user, or of all, in the order in which they were answered."""
    with open(_log(home), "rb") as log:
        log.seek(since)
        for line in log:
            if line.endswith(b"\n"):
                found = _asked(json.loads(line))
                if user in ("", found.user):
                    yield found


def position(home: Path) -> int:
    """Where the log ends now, to read on from there."""
    log = _log(home)
    return log.stat().st_size if log.exists() else 0


def _asked(event: dict[str, object]) -> Asked:
    about = event.get("objectRef")
    ref: dict[str, str] = about if isinstance(about, dict) else {}
    status, user = event.get("responseStatus"), event["user"]
    assert isinstance(user, dict)
    part = ref.get("subresource", "")
    return Asked(
        user=user["username"],
        verb=str(event["verb"]),
        group=ref.get("apiGroup", ""),
        resource=ref.get("resource", "") + (f"/{part}" if part else ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        status=status.get("code", 0) if isinstance(status, dict) else 0,
        uri=str(event["requestURI"]),
    )


def _log(home: Path) -> Path:
    return home / "audit.log"
