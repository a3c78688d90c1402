"""A configuration as YAML, in kube's field order, with everything written out."""

from collections.abc import Iterable
from typing import Any, Final

import yaml

from moorage.config import strict_decoder
from moorage.config.loader import Loaded
from moorage.config.moorage_configuration import DEFAULT_MOORAGE as MOORAGE
from moorage.config.moorage_configuration import MoorageConfiguration
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.config.types import SchedulerConfiguration

_NOTES: Final = {
    "parallelism": "no effect: Moorage scores all nodes in one pass",
    "percentageOfNodesToScore": "100 scores all nodes; 0 samples as kube-scheduler does",
}


def dump_configuration(configuration: SchedulerConfiguration) -> str:
    """Write a completed configuration; loading the text gives the same configuration again."""
    return _text(configuration)


def dump_all(loaded: Loaded) -> str:
    """The same, and the MoorageConfiguration where one was given."""
    text = _text(loaded.configuration)
    return text if loaded.moorage is MOORAGE else f"{text}---\n{_text(loaded.moorage)}"


def dump_policies(policies: Iterable[SchedulingPolicy]) -> str:
    """SchedulingPolicies, a document each."""
    return "---\n".join(_text(policy) for policy in policies)


def _text(
    configuration: SchedulerConfiguration | MoorageConfiguration | SchedulingPolicy,
) -> str:
    plain = _without_nothing(strict_decoder.encode(configuration))
    text = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return "".join(_with_note(line) for line in text.splitlines(keepends=True))


class _Dumper(yaml.SafeDumper):
    """Writes lists indented under their key, and never as references to one another."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _without_nothing(value: Any) -> Any:
    """Leave out null and empty values, except in arguments, where they may have a meaning."""
    if isinstance(value, dict):
        cleaned = {k: v if k == "args" else _without_nothing(v) for k, v in value.items()}
        return {key: inner for key, inner in cleaned.items() if not _is_nothing(inner)}
    if isinstance(value, list):
        return [_without_nothing(inner) for inner in value]
    return value


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, list | dict | str) and not value)


def _with_note(line: str) -> str:
    note = _NOTES.get(line.partition(":")[0])
    return f"{line.rstrip()}  # {note}\n" if note else line
