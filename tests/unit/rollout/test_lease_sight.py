"""When another's Lease has expired, by our own clock."""

from typing import Any

import pytest

from moorage.rollout.lease_sight import LeaseSight

HELD = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "t1"}
RENEWED = {**HELD, "renewTime": "t2"}
RELEASED = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": "t3"}
UNSEEN = "unseen"


@pytest.mark.parametrize(
    ("sights", "now", "want"),
    [
        pytest.param([], 100, False, id="a lease that was never read"),
        pytest.param([(0, HELD)], 14.9, False, id="a lease within its duration"),
        pytest.param([(0, HELD)], 15, True, id="a lease that has not changed for its duration"),
        pytest.param(
            [(0, HELD), (14, HELD)], 15, True, id="seeing the same again does not renew it"
        ),
        pytest.param([(0, HELD), (14, RENEWED)], 28, False, id="a renewed lease lasts anew"),
        pytest.param([(0, RELEASED)], 1, True, id="a released lease lasts as long as it says"),
        pytest.param([(0, {})], 14.9, False, id="a lease that does not say lasts kube's default"),
        pytest.param([(0, {})], 15, True, id="and no longer"),
        pytest.param(
            [(0, HELD), (10, UNSEEN), (20, HELD)], 34, False, id="time when it was unseen is lost"
        ),
        pytest.param([(0, HELD), (10, UNSEEN)], 100, False, id="what cannot be read is in doubt"),
        pytest.param([(0, None)], 100, False, id="a lease that is not there is in doubt, too"),
    ],
)
def test_expiry(sights: list[tuple[float, Any]], now: float, want: bool) -> None:
    assert sighted(sights).has_expired(now) is want


@pytest.mark.parametrize(
    ("sights", "now", "want"),
    [
        pytest.param([(0, None)], 14.9, False, id="a lease that has just gone may come back"),
        pytest.param([(0, None)], 15, True, id="one that stays away has expired"),
        pytest.param([(0, HELD), (10, None)], 24, False, id="it is away from when it went"),
        pytest.param([(0, None), (10, HELD)], 20, False, id="one that appears is held"),
    ],
)
def test_expiry_where_absence_counts(
    sights: list[tuple[float, Any]], now: float, want: bool
) -> None:
    assert sighted(sights, absence_counts=True).has_expired(now) is want


def sighted(sights: list[tuple[float, Any]], *, absence_counts: bool = False) -> LeaseSight:
    sight = LeaseSight(absence_counts=absence_counts)
    for when, spec in sights:
        if spec == UNSEEN:
            sight.unseen()
        else:
            sight.seen(spec, when)
    return sight
