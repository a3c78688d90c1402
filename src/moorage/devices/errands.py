"""Errands: writes about ResourceClaims that are to be made outside of an attempt.

PostFilter and Unreserve decide at once and cannot wait for an API server: they leave an errand, and
whoever runs the scheduler carries it out.
"""

import enum
from typing import NamedTuple

from moorage.api.resource_claims import ResourceClaim


class ErrandKind(enum.Enum):
    """What is to be done about a claim."""

    DEALLOCATE = "deallocate"
    """Nobody uses it: take its devices back."""
    DELETE = "delete"
    """It was made for extended resources, and is not needed any more."""
    UNRESERVE = "unreserve"
    """A pod that was to use it does not."""
    SETTLE = "settle"
    """It is not known whether an allocation was written: find out, then free what was booked."""


class Errand(NamedTuple):
    """One thing to be done about a claim, for a pod where it is about one."""

    kind: ErrandKind
    claim: ResourceClaim
    pod_uid: str = ""
