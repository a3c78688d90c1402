"""Keys that a plugin cannot tell, or that are none, cost no pod and no event."""

from typing import Any

import pytest

from moorage.framework.events import ASSIGNED_POD_ADD, EventHint, Keyed
from moorage.framework.plugin_errors import ignore_plugin_error
from moorage.queue.queueing_hints import PluginHints, QueueingHints
from moorage.testing import pod


def _fails(*_: Any) -> Any:
    raise KeyError("region")


def _unhashable(*_: Any) -> Any:
    return [["region"]]


@pytest.mark.parametrize("tell", [_fails, _unhashable])
def test_then_anything_may_help_and_anybody_is_helped(tell: Any) -> None:
    hint = EventHint(ASSIGNED_POD_ADD, keyed=Keyed(tell, tell))
    hints = QueueingHints({"mine": {"Regions": (hint,)}}, ignore_plugin_error)

    assert hints.awaited(("mine", "Regions"), pod("p").build()) is None
    assert PluginHints.of((hint,)).keys(None, None) is None


def test_a_plugin_whose_hints_go_by_different_keys_is_asked_about_everybody() -> None:
    by_name = EventHint(ASSIGNED_POD_ADD, keyed=Keyed(lambda pod: pod.name, _fails))
    by_uid = EventHint(ASSIGNED_POD_ADD, keyed=Keyed(lambda pod: pod.uid, _fails))
    one, two = ({"mine": {"Regions": found}} for found in ((by_name,), (by_name, by_uid)))
    refused = ("mine", "Regions"), pod("p").build()

    assert QueueingHints(one, ignore_plugin_error).awaited(*refused) == "p"
    assert QueueingHints(two, ignore_plugin_error).awaited(*refused) is None
