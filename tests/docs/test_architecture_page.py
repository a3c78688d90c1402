"""docs/architecture.md lists the features that a scheduler has."""

import random
import re

from moorage.app import built_in_plugins
from moorage.app.assembly import all_features
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock
from moorage.config.loader import load
from moorage.config.types import API_VERSION, KIND
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.feature import Feature
from moorage.scheduler.ports import Ports
from moorage.scheduler.scheduler import Scheduler
from tests.docs.pages import DOCS

_ROW = re.compile(r"^\| \d+ \| `(?P<feature>\w+\.\w+)` \|", re.MULTILINE)


def test_every_feature_is_listed_in_the_order_of_effects() -> None:
    made: list[str] = []

    def features(ports: Ports) -> list[Feature]:
        found = all_features(ports, sparing=True)
        made.extend(f"{type(f).__module__.split('.')[1]}.{type(f).__name__}" for f in found)
        return found

    known = built_in_plugins.built_in()
    document = {"apiVersion": API_VERSION, "kind": KIND}
    loaded = load(document, known=built_in_plugins.describe_plugins(known))
    profiles = build_profiles(loaded.configuration, known)
    clock, rng = VirtualClock(0.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    Scheduler(cluster, profiles, clock=clock, rng=rng, features=features)

    assert _ROW.findall((DOCS / "architecture.md").read_text()) == made
