"""How room is made for pods: evictions, circles, promises, budgets, nodes at rest."""

from collections.abc import Iterator, Mapping

import msgspec
from prometheus_client.core import Metric as Family

from moorage.observe import catalogue
from moorage.observe.families import counter, gauge, one


class Room(msgspec.Struct, frozen=True):
    """What a scheduler has done to make room, and what is under way.

    `evictions` by (way, result); `disruptions_spent` are those that budgets do not show yet, and
    `disruptions_expired` those that they never showed.
    """

    evictions: Mapping[tuple[str, str], int]
    leaving: int
    loops_cut: int
    pairs_stopped: int
    nominations_given_up: int
    disruptions_spent: int
    disruptions_expired: int
    nodes_resting: int
    rejections: int


def families(room: Room) -> Iterator[Family]:
    """The metrics of it."""
    yield counter(catalogue.EVICTIONS, room.evictions.items())
    yield gauge(catalogue.VICTIMS_LEAVING, one(room.leaving))
    yield counter(catalogue.LOOPS_CUT, one(room.loops_cut))
    yield gauge(catalogue.PAIRS_STOPPED, one(room.pairs_stopped))
    yield counter(catalogue.NOMINATIONS_GIVEN_UP, one(room.nominations_given_up))
    yield gauge(catalogue.DISRUPTIONS_SPENT, one(room.disruptions_spent))
    yield counter(catalogue.DISRUPTIONS_EXPIRED, one(room.disruptions_expired))
    yield gauge(catalogue.NODES_RESTING, one(room.nodes_resting))
    yield counter(catalogue.REJECTIONS, one(room.rejections))
