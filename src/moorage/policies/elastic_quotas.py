"""ElasticQuotas: what a namespace is sure to get, and the most it may use."""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.api import quantity
from moorage.api.meta import ResourceList
from moorage.api.podgroup import ElasticQuota
from moorage.api.quantity import QuantityError
from moorage.cache.interning import Interner

Limits = dict[int, int]
"""By resource index."""


class Quota(NamedTuple):
    """One quota in numbers. What `maximum` does not name is not limited; what `minimum` does not
    name is not guaranteed."""

    key: str
    minimum: Limits
    maximum: Limits

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


def problems(quota: ElasticQuota) -> list[str]:
    """What makes a quota senseless, in the words for its author."""
    found = []
    for name, text in sorted(quota.spec.min.items()):
        most = quota.spec.max.get(name)
        try:
            if most is not None and quantity.parse(text) > quantity.parse(most):
                found.append(f"min asks for {text} {name}, which is more than its max of {most}")
        except QuantityError as error:
            found.append(str(error))
    return found


def read(quotas: Iterable[ElasticQuota], resources: Interner[str]) -> dict[str, Quota]:
    """The quota of each namespace: of several the first by name; senseless ones are left out."""
    made: dict[str, Quota] = {}
    for quota in sorted(quotas, key=lambda quota: quota.key):
        if quota.namespace not in made and not problems(quota):
            least, most = (_limits(given, resources) for given in (quota.spec.min, quota.spec.max))
            made[quota.namespace] = Quota(quota.key, least, most)
    return made


def _limits(given: ResourceList, resources: Interner[str]) -> Limits:
    return {
        resources.intern(name): quantity.milli_value(text)
        if name == "cpu"
        else quantity.value(text)
        for name, text in given.items()
    }
