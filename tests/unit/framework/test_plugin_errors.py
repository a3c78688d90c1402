"""What a plugin raises is told as a PluginError, once."""

import pytest

from moorage.framework.plugin_errors import as_plugin_error, plugin_error
from moorage.framework.verdicts import PluginError


def test_an_exception_is_told_with_its_plugin_its_point_and_its_cause() -> None:
    with pytest.raises(PluginError) as raised, as_plugin_error("Zones", "Filter"):
        raise KeyError("zone")

    assert str(raised.value) == "running Filter plugin 'Zones': KeyError: 'zone'"
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_plugin_error_stays_as_it_is_and_is_not_its_own_cause() -> None:
    found = PluginError("Zones", "Filter", "no zones are known")

    with pytest.raises(PluginError) as raised, as_plugin_error("Zones", "Filter"):
        raise found

    assert raised.value is found
    assert raised.value.__cause__ is None


def test_what_names_its_plugin_already_does_not_name_it_twice() -> None:
    found = PluginError("Zones", "PreEnqueue", "KeyError: 'zone'")

    assert plugin_error("Zones", "PreEnqueue", found) is found
