"""Fixtures for tests against a real kube-apiserver."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration import grouping
from tests.integration.control_plane import MISSING, ControlPlane, assets


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A socket that a test left open is told of in that test, not in one that comes later."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where Kubernetes' programs are; without them the tests that need them are skipped."""
    found = assets()
    if found is None:
        pytest.skip(MISSING)
    return found


@pytest.fixture(scope="session")
def control_plane(
    programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    with ControlPlane(programs, tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane all tests share; what a test leaves there is deleted after it."""
    yield control_plane
    control_plane.clear()


@pytest.fixture
def own_plane(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane of the test's own, to break."""
    with ControlPlane(programs, tmp_path / "control-plane") as plane:
        yield plane


@pytest.fixture(scope="session")
def group_plane(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that serves quotas and PodGroups, ours and Kubernetes' own."""
    home = tmp_path_factory.mktemp("groups")
    with ControlPlane(programs, home, *grouping.BOTH_DIALECTS) as plane:
        grouping.install(plane, *map(grouping.shipped, ("podgroups", "elasticquotas")))
        yield plane


@pytest.fixture
def groups(group_plane: ControlPlane) -> Iterator[ControlPlane]:
    """That control plane; what a test leaves there is deleted after it."""
    yield group_plane
    grouping.clear(group_plane)
