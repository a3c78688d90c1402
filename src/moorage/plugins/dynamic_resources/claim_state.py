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
    """What one attempt knows of the pod's claims; the one for extended resources comes last."""

    def __init__(self, claims: list[ResourceClaim], extended: ResourceClaim | None) -> None:
        self.claims = claims
        self.extended = extended
        self.terms: dict[int, tuple[NodeTerm, ...]] = {}
        """Position -> the nodes that can use an allocated claim; absent if every node can."""
        self.unusable: set[int] = set()
        """Positions of allocated claims whose devices did not become ready."""
        self.column: ClaimColumn | None = None
        self.allocations: dict[int, AllocationResult] = {}
        """Position -> allocation that Reserve has booked and PreBind has not finished."""
        self.booked: dict[int, ResourceClaim] = {}
        """Position -> the claim as booked; the one for extended resources with its requests."""
        self.sharing: dict[int, AllocationResult] = {}
        """Position -> allocation that is in flight for other pods of the group."""
        self.unsure: set[int] = set()
        """Positions of claims for which it is unknown whether the API server has written them."""
        self.mappings: tuple[RequestMapping, ...] = ()
        self.consumers: list[ResourceClaimConsumerReference] = []
        """The consumers to reserve the claims for, by position; empty if no group is involved."""

    def replace(self, position: int, claim: ResourceClaim) -> None:
        """Replace a claim by the version that the API server returned."""
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
