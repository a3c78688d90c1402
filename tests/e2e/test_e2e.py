"""Kubernetes' own specs pass with Moorage as default-scheduler: one of each kind."""

from pathlib import Path

import pytest

from tests.e2e.cluster import cluster
from tests.e2e.groups import SHORT
from tests.e2e.specs import run
from tests.integration.control_plane import MISSING, assets

PROGRAMS = ("kube-controller-manager", "fake-kubelet", SHORT.binary)
EXPECTED = 14
"""At least so many specs are selected; fewer means that upstream has renamed them."""


def _programs() -> Path:
    found = assets()
    missing = [name for name in PROGRAMS if found is None or not (found / name).exists()]
    if found is None or missing:
        why = MISSING if found is None else f"no {', '.join(missing)}: run `make e2e-programs`"
        pytest.skip(why)
    return found


@pytest.mark.kube
@pytest.mark.timeout(900)
def test_specs_of_each_kind_pass(tmp_path: Path) -> None:
    programs = _programs()

    with cluster(programs, tmp_path / "moorage", "moorage", "v1.37.1") as plane:
        found = run(plane, programs / SHORT.binary, SHORT, timeout="12m")

    failed = [f"{spec.name}: {spec.message}" for spec in found if not spec.passed]
    assert failed == [], f"logs are in {tmp_path}"
    assert len(found) >= EXPECTED
