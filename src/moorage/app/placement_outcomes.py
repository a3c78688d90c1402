"""The feature that tells policies what became of the pods they placed."""

from collections.abc import Iterable

from moorage.api.pod import Pod
from moorage.cycle.profile import Profile
from moorage.policies.load import outcomes
from moorage.scheduler.feature import Feature
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change


class PlacementOutcomes(Feature):
    """Every change of a pod reaches the outcomes of each profile that keeps them."""

    hears = ("pods",)

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._profiles = profiles

    def after(self, change: Change, resource: Resource) -> None:
        old, new = change.old, change.new
        keepers = (each.shared.get(outcomes.OUTCOMES) for each in self._profiles)
        for kept in {id(found): found for found in keepers if found is not None}.values():
            kept.see(old if isinstance(old, Pod) else None, new if isinstance(new, Pod) else None)
