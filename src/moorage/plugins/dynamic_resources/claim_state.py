"""What one attempt knows of the pod's claims."""

from moorage.api.node_selectors import NodeTerm
from moorage.api.resource_claims import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from moorage.plugins.dynamic_resources.claim_columns import ClaimColumn
from moorage.plugins.dynamic_resources.extended_resources import RequestMapping


class ClaimState:
    """What one attempt knows of the pod's claims; that for extended resources comes last."""

    def __init__(self, claims: list[ResourceClaim], extended: ResourceClaim | None) -> None:
        self.claims = claims
        self.extended = extended
        self.terms: dict[int, tuple[NodeTerm, ...]] = {}
        """Where allocated claims are reached from, by position, unless from everywhere."""
        self.unusable: set[int] = set()
        """Allocated claims whose devices were not made ready."""
        self.column: ClaimColumn | None = None
        self.allocations: dict[int, AllocationResult] = {}
        """What Reserve has booked and PreBind has not finished, by position."""
        self.booked: dict[int, ResourceClaim] = {}
        """The claims for which it was booked: that for extended resources as the node needs it."""
        self.sharing: dict[int, AllocationResult] = {}
        """Allocations that are in flight for other pods of the group, by position."""
        self.unsure: set[int] = set()
        """Claims of which it is not known what an API server has made of them."""
        self.mappings: tuple[RequestMapping, ...] = ()
        self.consumers: list[ResourceClaimConsumerReference] = []
        """For whom the claims are to be reserved, where groups may have claims."""

    def replace(self, position: int, claim: ResourceClaim) -> None:
        """Go by a claim as an API server has answered it."""
        if self.claims[position] is self.extended:
            self.extended = claim
        self.claims[position] = claim

    @property
    def to_allocate(self) -> list[int]:
        return [
            i
            for i, each in enumerate(self.claims)
            if each.status.allocation is None and i not in self.sharing
        ]

    @property
    def user_claims(self) -> list[ResourceClaim]:
        return self.claims if self.extended is None else self.claims[:-1]
