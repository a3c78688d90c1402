"""Amounts of a resource as people write them."""

from typing import Final

from moorage.api import quantity
from moorage.api.quantity import BINARY_SI, DECIMAL_SI, Quantity

_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def text(resource: str, value: int) -> str:
    """An amount in the units that scheduling counts in: `1500m`, `2Gi`, `8`."""
    if resource == "cpu":
        return quantity.format(Quantity(value, quantity.MILLI))
    form = BINARY_SI if resource.startswith(_BYTES) else DECIMAL_SI
    return quantity.format(Quantity(value, 0, form))
