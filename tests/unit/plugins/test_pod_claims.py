"""The claims that a pod refers to."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.resource_claims import ResourceClaim
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.inventory import Inventory
from moorage.plugins.dynamic_resources.pod_claims import ClaimsError, pod_claims


def claim(name: str, **metadata: Any) -> ResourceClaim:
    fields = {"name": name, "namespace": "default", "uid": name, **metadata}
    return decode_as({"metadata": fields, "spec": {}}, ResourceClaim)


def pod(*entries: dict[str, str], statuses: Any = ()) -> Pod:
    named = [{"name": f"e{number}", **entry} for number, entry in enumerate(entries)]
    raw = {
        "metadata": {"name": "web", "namespace": "default", "uid": "web"},
        "spec": {"resourceClaims": named},
        "status": {"resourceClaimStatuses": list(statuses)},
    }
    return decode_as(raw, Pod)


def found(wanted: Pod, *claims: ResourceClaim) -> list[str]:
    tracker = ClaimTracker(Inventory())
    for each in claims:
        tracker.put(each)
    return [each.name for each in pod_claims(wanted, tracker)]


def test_an_entry_for_which_no_claim_was_needed_is_passed_over() -> None:
    wanted = pod(
        {"resourceClaimTemplateName": "t"},
        {"resourceClaimName": "mine"},
        statuses=[{"name": "e0"}],
    )

    assert found(wanted, claim("mine")) == ["mine"]


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        pytest.param([], 'could not find ResourceClaim "default/mine"', id="a claim that is gone"),
        pytest.param(
            [claim("mine", deletionTimestamp="2026-01-01T00:00:00Z")],
            'resourceclaim "mine" is being deleted',
            id="a claim that is going",
        ),
    ],
)
def test_a_claim_that_cannot_be_used(claims: list[ResourceClaim], message: str) -> None:
    assert found(pod({"resourceClaimName": "mine"}), claim("mine")) == ["mine"]

    with pytest.raises(ClaimsError, match=message):
        found(pod({"resourceClaimName": "mine"}), *claims)
