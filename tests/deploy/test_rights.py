"""The shipped roles suffice, and not one right could be missing: read from the audit log."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.chapters import AT_ONCE, NOT_PLAYED, PROFILES, WRITTEN_IN, telling
from tests.deploy.conftest import NAMESPACES
from tests.deploy.rights import USER, Right, shipped, without
from tests.deploy.tools import Raw
from tests.integration import auditing, grouping
from tests.integration.auditing import FORBIDDEN
from tests.integration.control_plane import KEPT, ControlPlane
from tests.integration.harness import eventually, running

pytestmark = pytest.mark.kube


@pytest.fixture
def cleared(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster; what a test leaves there is deleted, but for its namespaces."""
    yield cluster
    grouping.clear(cluster, keep={*KEPT, *NAMESPACES})


def test_its_rights_suffice_for_all_it_does_and_each_of_them_is_used(
    cleared: ControlPlane, account: Path
) -> None:
    since = auditing.position(cleared.home)

    async def story() -> list[tuple[str, str]]:
        async with running(
            cleared, kubeconfig_file=account, agree=False, profiles=PROFILES
        ) as under_test:
            await asyncio.gather(*(chapter(under_test) for chapter in AT_ONCE))
            await telling(under_test)
            return under_test.seen.failures

    assert asyncio.run(story()) == []
    asked = list(auditing.asked(cleared.home, USER, since))
    assert [request for request in asked if request.status == FORBIDDEN] == []
    unused = {str(right) for _, right in shipped() if not any(map(right.covers, asked))}
    assert unused - NOT_PLAYED.keys() == set()


@pytest.mark.parametrize(
    ("role", "right"),
    [
        pytest.param(role, right, id=str(right))
        for role, right in shipped()
        if str(right) not in NOT_PLAYED
    ],
)
def test_without_it_something_is_refused(
    cleared: ControlPlane, account: Path, role: Raw, right: Right
) -> None:
    chapter = WRITTEN_IN.get(str(right))
    since = auditing.position(cleared.home)

    async def refused() -> bool:
        asked = auditing.asked(cleared.home, USER, since)
        return any(right.covers(request) and request.status == FORBIDDEN for request in asked)

    async def story() -> None:
        async with running(
            cleared,
            kubeconfig_file=account,
            sync=chapter is not None,
            agree=False,
            profiles=PROFILES,
        ) as under_test:
            playing = asyncio.ensure_future(
                asyncio.sleep(0) if chapter is None else chapter(under_test)
            )
            try:
                await eventually(refused, lambda: f"nothing refused without {right}: {playing}")
            finally:
                playing.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await playing

    with without(cleared, role, right):
        asyncio.run(story())


def test_every_right_to_write_belongs_to_a_chapter() -> None:
    reads = {"list", "watch"}

    written = {str(right) for _, right in shipped() if right.verb not in reads}
    assert written == WRITTEN_IN.keys() | NOT_PLAYED.keys()
