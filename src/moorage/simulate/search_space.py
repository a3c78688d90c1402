"""The search space of tuning: paths in a configuration, and the values each may take.

A path is written as `moorage config check` writes it; a list item may be given by its name:
`profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight`.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from moorage.app import input_files
from moorage.config import field_errors, strict_decoder, yaml_documents
from moorage.config.field_errors import ConfigError, Path, Problem, Report
from moorage.config.types import API_VERSION as CONFIG_VERSION
from moorage.config.types import KIND as CONFIG_KIND
from moorage.config.types import ConfigStruct
from moorage.simulate.candidate import Candidate

API_VERSION: Final = "moorage/v1"
KIND: Final = "SearchSpace"

Value = int | float | str | bool


class Parameter(ConfigStruct, frozen=True):
    """One path, and its values: a range from `low` to `high`, or `choices`."""

    path: str
    low: float | None = None
    high: float | None = None
    whole: bool = True
    log: bool = False
    choices: tuple[Value, ...] = ()


class SearchSpace(ConfigStruct, frozen=True):
    """A search space file."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()


def read_space(path: str) -> tuple[SearchSpace, Report]:
    """The search space of a file and its Report; raises all problems at once."""
    title = input_files.title_of(path)
    found = yaml_documents.find_only_document(input_files.read_input(path, "--space"), KIND, title)
    report = Report(title, found.places, found.within)
    space = strict_decoder.decode(found.value, SearchSpace, report)
    if space is not None:
        if not space.parameters:
            report.problem(("parameters",), "nothing to search")
        for i, parameter in enumerate(space.parameters):
            _check(parameter, report, ("parameters", i))
    report.raise_problems()
    assert space is not None
    return space, report


def _check(parameter: Parameter, report: Report, path: tuple[str | int, ...]) -> None:
    low, high = parameter.low, parameter.high
    if len(field_errors.parse_path(parameter.path)) < 2:
        report.problem((*path, "path"), f"not a place in a configuration: {parameter.path!r}")
    if bool(parameter.choices) == (low is not None and high is not None):
        report.problem(path, "needs either low and high, or choices")
    elif low is not None and high is not None and low >= high:
        report.problem((*path, "low"), f"{low:g} is not below high, {high:g}")


def check_values(space: SearchSpace, base: Candidate, report: Report) -> None:
    """Raise a ConfigError that names, by its line, every value that the configuration refuses.

    A value may be valid only together with another parameter. So each value is tried alone, and
    then with the first value of every other parameter; it is refused if both are invalid.
    """
    firsts = {each.path: next(iter(_values(each).values())) for each in space.parameters}
    for i, each in enumerate(space.parameters):
        refused: dict[Path, list[str]] = {}
        values = _values(each)
        for place, value in values.items():
            alone = _problems(base, {each.path: value})
            if alone and _problems(base, {**firsts, each.path: value}):
                refused[place] = alone
        if len(refused) == len(values) > 1 and len({tuple(said) for said in refused.values()}) == 1:
            refused = {("path",): next(iter(refused.values()))}
        for place, said in refused.items():
            report.problem(("parameters", i, *place), "; ".join(said))
    report.raise_problems()


def _values(parameter: Parameter) -> dict[Path, Value]:
    """The values to try, by their path in the parameter: every choice, or both ends of a range."""
    if parameter.choices:
        return {("choices", i): value for i, value in enumerate(parameter.choices)}
    kind = int if parameter.whole else float
    return {("low",): kind(parameter.low or 0), ("high",): kind(parameter.high or 0)}


def _problems(base: Candidate, values: Mapping[str, Value]) -> list[str]:
    """The problems of the configuration with these values."""
    try:
        with_values(base, values, base.name).load()
    except ConfigError as error:
        return [f"{problem.place}: {problem.message}" for problem in error.problems]
    return []


def with_values(base: Candidate, values: Mapping[str, Value], name: str) -> Candidate:
    """The configuration with other values at some paths."""
    document = _document(base)
    for path, value in values.items():
        _put(document, path, value)
    text = yaml.safe_dump(document, sort_keys=False).encode()
    return Candidate(name, name, text, base.plugin_specs)


def _document(base: Candidate) -> dict[str, Any]:
    if not base.text:
        return {"apiVersion": CONFIG_VERSION, "kind": CONFIG_KIND, "profiles": [{}]}
    found = yaml_documents.find_only_document(base.text, CONFIG_KIND, base.source)
    return copy.deepcopy(found.value)


def _put(document: dict[str, Any], written: str, value: Value) -> None:
    *steps, last = field_errors.parse_path(written)
    at: Any = document
    for step, following in zip(steps, [*steps[1:], last], strict=True):
        at = _inside(at, step, following, written)
    if isinstance(at, list):
        raise ConfigError([Problem(written, "the last part of a path is a field")])
    at[last] = value


def _inside(at: Any, step: str | int, following: str | int, written: str) -> Any:
    """The value at one step of a path, created if it is missing."""
    if isinstance(at, dict):
        is_list = isinstance(following, int) or f"{step}[{following}]" in written
        return at.setdefault(str(step), [] if is_list else {})
    if isinstance(at, list) and isinstance(step, int):
        while len(at) <= step:
            at.append({})
        return at[step]
    if isinstance(at, list):
        for item in at:
            if isinstance(item, dict) and item.get("name") == step:
                return item
        at.append({"name": step})
        return at[-1]
    raise ConfigError([Problem(written, f"nothing can stand inside of {at!r}")])
