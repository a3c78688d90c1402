"""The programs these tests need, and what to do where one is missing."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.app.assembly import OPTIONAL
from moorage.scheduler.intake import FOLLOWED

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OVERLAYS = (
    "base",
    "overlays/in-place-of-kube-scheduler",
    "overlays/several-schedulers",
    "overlays/monitoring",
    "overlays/monitoring-as-kube-scheduler",
    "overlays/verified-metrics",
    "overlays/measured",
    "overlays/policies",
    "overlays/stand-in-for-kube-scheduler",
    "overlays/extender",
    "overlays/shadow",
    "overlays/dashboard",
    "crds",
)
WITHOUT_PODS = ("overlays/monitoring", "overlays/monitoring-as-kube-scheduler", "crds")
RUNNING = tuple(overlay for overlay in OVERLAYS if overlay not in WITHOUT_PODS)
"""The overlays that run pods; all others but those without any."""
REMEDIES = {
    "kubectl": "no kubectl: install it, or run `make kubectl`",
    "promtool": "no promtool: install Debian's package prometheus",
}

Raw = dict[str, Any]


def program(name: str) -> str:
    """Where a program is; where it is not, the test is skipped."""
    folders = (os.environ.get("KUBEBUILDER_ASSETS", ""), str(ROOT / ".kube-assets" / "bin"))
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders))) or shutil.which(name)
    if found is None:
        pytest.skip(REMEDIES[name])
    return found


def run(*command: str, text: str | None = None) -> str:
    """What a program says; the test fails with its complaint where it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


@cache
def rendered(overlay: str) -> str:
    """An overlay as kustomize builds it."""
    return run(program("kubectl"), "kustomize", str(DEPLOY / overlay))


def objects(overlay: str) -> list[Raw]:
    """The objects of an overlay."""
    return list(yaml.load_all(rendered(overlay), yaml.CSafeLoader))


def of_kind(overlay: str, kind: str) -> list[Raw]:
    return [obj for obj in objects(overlay) if obj["kind"] == kind]


def templates(overlay: str) -> list[Raw]:
    """The pods that an overlay runs."""
    kinds = ("Deployment", "DaemonSet", "StatefulSet", "Job")
    return [obj["spec"]["template"] for kind in kinds for obj in of_kind(overlay, kind)]


def allowed_by(overlay: str) -> set[tuple[str, str, str]]:
    """What the one ClusterRole of an overlay allows: group, resource, verb."""
    [role] = of_kind(overlay, "ClusterRole")
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def looking_on() -> set[tuple[str, str, str]]:
    """What whoever follows a cluster as a scheduler does has to be allowed, and nothing else."""
    followed = (*FOLLOWED, *(resource for versions in OPTIONAL for resource in versions))
    return {(each.group, each.plural, verb) for each in followed for verb in ("list", "watch")}
