"""What NodeResourcesFit says of one row, resource by resource."""

import pytest

from moorage.cache.cache import Cache
from moorage.plugins.node_resources import fit
from moorage.testing import node

CPU = 0


@pytest.mark.parametrize(
    ("asked", "is_backed", "short_of"),
    [
        pytest.param([("gpu", 1), ("cpu", 5000)], True, ["cpu"], id="devices stand for the first"),
        pytest.param([("gpu", 1), ("cpu", 500)], True, [], id="devices stand for what is short"),
        pytest.param(
            [("gpu", 1), ("cpu", 5000)], False, ["gpu", "cpu"], id="nothing stands for it"
        ),
    ],
)
def test_a_resource_that_devices_stand_for_hides_no_other(
    asked: list[tuple[str, int]], is_backed: bool, short_of: list[str]
) -> None:
    cache = Cache()
    cache.put_node(node("a").offering(cpu="1").build())
    table = cache.table
    index = {"cpu": CPU, "gpu": table.resources.intern("example.com/gpu")}
    checked = [(index[name], amount) for name, amount in asked]
    backed = frozenset({index["gpu"]}) if is_backed else frozenset[int]()

    code = fit.code_of(checked, table, 0, backed)

    bits = enumerate((name for name, _ in asked), start=2)
    assert [name for bit, name in bits if code >> bit & 1] == short_of
