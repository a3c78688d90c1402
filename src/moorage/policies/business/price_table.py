"""What instances cost: a table by provider, region, instance type and purchase option.

It is CSV with a header. The columns `instance_type` and a price are required. A missing column or
an empty field matches anything:

    provider,region,instance_type,purchase,usd_per_hour
    aws,us-east-1,m5.large,on-demand,0.096
    aws,us-east-1,m5.large,spot,0.035

A file with a price column per purchase option works too: `usd_per_hour_ondemand`,
`usd_per_hour_spot`, `usd_per_hour_reserved`. The most specific line that matches an instance wins.
"""

import io
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from moorage.api.node import Node

PRICES: Final = "prices"
"""The key of a profile's table in the state that its plugins share."""
REGION_LABELS: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
ZONE_LABELS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"
RESERVED: Final = "reserved"
CAPACITY_LABELS: Final = ("karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType")

_ANY: Final = ""
_PRICE: Final = "usd_per_hour"
_PRICES: Final = {
    f"{_PRICE}_ondemand": ON_DEMAND,
    f"{_PRICE}_spot": SPOT,
    f"{_PRICE}_reserved": RESERVED,
}
_PURCHASES: Final = {"ondemand": ON_DEMAND, "on_demand": ON_DEMAND, "preemptible": SPOT}
_SCHEMES: Final = {"gce": "gcp"}


class PriceTableError(ValueError):
    """A table that cannot be read; the message names the line and the fault."""


class Instance(NamedTuple):
    """What a node's price depends on; unknown fields are empty."""

    provider: str
    region: str
    instance_type: str
    purchase: str


class PriceTable:
    """Prices per hour by instance; `version` changes with the contents."""

    def __init__(self, prices: dict[Instance, float]) -> None:
        self._prices = prices
        self.version = hash(frozenset(prices.items()))

    def __len__(self) -> int:
        return len(self._prices)

    def lines(self) -> Iterator[tuple[Instance, float]]:
        return iter(self._prices.items())

    def find(self, instance: Instance) -> float:
        """The price by the most specific matching line; NaN if none matches."""
        for provider in dict.fromkeys((instance.provider, _ANY)):
            for region in dict.fromkeys((instance.region, _ANY)):
                for purchase in dict.fromkeys((instance.purchase, _ANY)):
                    line = Instance(provider, region, instance.instance_type, purchase)
                    if line in self._prices:
                        return self._prices[line]
        return math.nan


NO_PRICES: Final = PriceTable({})


def join(tables: Iterable[PriceTable]) -> PriceTable:
    """All tables in one; of equal lines, the later wins."""
    return PriceTable({line: price for table in tables for line, price in table.lines()})


def price_table(shared: dict[str, Any]) -> PriceTable:
    """The profile's table; an empty one if none was read."""
    found: PriceTable = shared.get(PRICES, NO_PRICES)
    return found


def parse_prices(text: str, place: str = "prices") -> PriceTable:
    """Read a table; raises a PriceTableError that names the line."""
    import csv  # few read prices

    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = [name.strip() for name in rows.fieldnames or ()]
    if "instance_type" not in columns or not {_PRICE, *_PRICES} & {*columns}:
        wanted = f"{_PRICE} or {', '.join(_PRICES)}"
        raise PriceTableError(f"{place}: the header needs instance_type and {wanted}")
    found: dict[Instance, float] = {}
    for row in rows:
        fields = {(key or "").strip(): (value or "").strip() for key, value in row.items() if key}
        found.update(_lines(fields, f"{place}, line {rows.line_num}"))
    return PriceTable(found)


def _lines(fields: dict[str, str], place: str) -> Iterator[tuple[Instance, float]]:
    provider, region = fields.get("provider", "").lower(), fields.get("region", "")
    kind = fields["instance_type"]
    if not kind:
        raise PriceTableError(f"{place}: no instance_type")
    if fields.get(_PRICE):
        purchase = fields.get("purchase", "").lower()
        instance = Instance(provider, region, kind, _PURCHASES.get(purchase, purchase))
        yield instance, _amount(fields[_PRICE], place)
    for column, purchase in _PRICES.items():
        if fields.get(column):
            instance = Instance(provider, region, kind, purchase)
            yield instance, _amount(fields[column], place)


def _amount(text: str, place: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise PriceTableError(f"{place}: {text!r} is not a price") from None
    if not 0 <= found < math.inf:
        raise PriceTableError(f"{place}: {text!r} is not a price")
    return found


def provider_of(node: Node) -> str:
    """The provider in `spec.providerID`: aws, gcp, azure and so on."""
    scheme, found, _ = node.spec.provider_id.partition("://")
    return _SCHEMES.get(scheme, scheme) if found else ""


def region_of(node: Node) -> str:
    """The region by label, or else by the zone in `spec.providerID`."""
    for label in REGION_LABELS:
        if node.labels.get(label):
            return node.labels[label]
    zone = next((node.labels[each] for each in ZONE_LABELS if node.labels.get(each)), "")
    return _region_of_zone(provider_of(node), zone or _zone_of_provider_id(node.spec.provider_id))


def instance_of(node: Node, type_label: str, spot: bool) -> Instance:
    """What the price of a node depends on."""
    return Instance(
        provider_of(node), region_of(node), node.labels.get(type_label, ""), purchase_of(node, spot)
    )


def purchase_of(node: Node, spot: bool) -> str:
    """How the machine was bought; on demand, unless something says otherwise."""
    if spot:
        return SPOT
    for label in CAPACITY_LABELS:
        said = node.labels.get(label, "").lower()
        if said:
            return _PURCHASES.get(said.replace("_", ""), said)
    return ON_DEMAND


def _zone_of_provider_id(provider_id: str) -> str:
    """The zone in `aws:///us-east-1a/i-0abc` or `gce://project/us-central1-a/name`."""
    scheme, _, rest = provider_id.partition("://")
    parts = rest.split("/")
    return parts[1] if scheme in ("aws", "gce") and len(parts) > 2 else ""


def _region_of_zone(provider: str, zone: str) -> str:
    if provider == "gcp":
        return zone.rpartition("-")[0]
    return zone[:-1] if zone and zone[-1].isalpha() and zone[-2:-1].isdigit() else zone
