"""Errands: writes of ResourceClaims that are made outside of an attempt.

PostFilter and Unreserve are synchronous and cannot wait for an API server. They leave an errand,
and the scheduler carries it out.
"""

import enum
from typing import NamedTuple

from moorage.api.resource_claims import ResourceClaim


class ErrandKind(enum.Enum):
    """What to do with a claim."""

    DEALLOCATE = "deallocate"
    """No pod uses it: remove its allocation."""
    DELETE = "delete"
    """It was made for extended resources, and is no longer needed."""
    UNRESERVE = "unreserve"
    """A pod that was to use it will not: remove its reservation."""
    SETTLE = "settle"
    """It is unknown whether an allocation was written: find out, then free what was booked."""


class Errand(NamedTuple):
    """One thing to do with a claim; `pod_uid` if it is about a pod."""

    kind: ErrandKind
    claim: ResourceClaim
    pod_uid: str = ""
