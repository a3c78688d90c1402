"""MoorageConfiguration: the settings that kube-scheduler does not have, in a document of their own.

It stands in the same file as the KubeSchedulerConfiguration, or in the same ConfigMap, so that
the latter stays one that kube-scheduler reads too.
"""

from collections.abc import Mapping
from typing import Any, Final

from moorage.config import decoding, documents, guarding
from moorage.config.guarding import PluginGuard
from moorage.config.problems import ConfigError, Problem, Report, unsupported
from moorage.config.types import ConfigStruct

API_VERSION: Final = "moorage/v1"
KIND: Final = "MoorageConfiguration"


class MoorageConfiguration(ConfigStruct, frozen=True):
    """The settings of Moorage itself."""

    api_version: str = API_VERSION
    kind: str = KIND
    plugin_guard: PluginGuard = PluginGuard()


DEFAULT: Final = MoorageConfiguration()


def load(document: str | bytes | Mapping[str, Any], *, source: str = "") -> MoorageConfiguration:
    """The only such document of a text; without one, the defaults. Raises ConfigError."""
    found = documents.find(document, KIND, source)
    if not found:
        return DEFAULT
    if len(found) > 1:
        message = f"{len(found)} documents of kind {KIND} where one is expected"
        raise ConfigError([Problem("", message, 0, source)])
    report = Report(source, found[0].places, found[0].within)
    configuration = decoding.decode(found[0].value, MoorageConfiguration, report)
    if configuration is not None:
        if configuration.api_version != API_VERSION:
            detail = unsupported(configuration.api_version, (API_VERSION,))
            report.problem(("apiVersion",), detail)
        guarding.check(configuration.plugin_guard, report, ("pluginGuard",))
    report.raise_problems()
    assert configuration is not None
    return configuration
