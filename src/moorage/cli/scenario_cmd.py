"""The scenario mode of `moorage simulate`: one run in virtual time, and its KPIs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import yaml

from moorage import __version__
from moorage.app.config_bundle import ConfigBundle
from moorage.cli import comparison_output
from moorage.cli.command_exit import DONE, FAILED, PENDING
from moorage.cli.common import given_options
from moorage.cli.record_options import NOT_RECORDED, RecordTo, recording_to
from moorage.cli.scenario_options import read_configurations, read_scenario, refuse_nothing_done
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import InputError
from moorage.simulate import result_table, scenario_file
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison, compare
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_run import RunResult, run_scenario, run_scenario_observed

if TYPE_CHECKING:
    from moorage.cli.finished_run import FinishedRun

_OWN_CLUSTER: Final = (
    "tables and scenarios bring their own cluster: keep the live one with `moorage snapshot`, and "
    "name that file at cluster.manifests of a scenario"
)
_IN_KPIS: Final = (
    "tables and scenarios are told in KPIs, not pod by pod: -o json has them by tenant and by "
    "workload"
)
_CHANGED_THERE: Final = "change the tables or the scenario itself: what-ifs are asked of manifests"
_AS_WRITTEN: Final = (
    "it is about manifests that are named here: tables and scenarios are read in one way alone"
)
OF_MANIFESTS: Final = {
    "context": _OWN_CLUSTER,
    "kubeconfig": _OWN_CLUSTER,
    "only": _IN_KPIS,
    "namespace": _IN_KPIS,
    "node": _IN_KPIS,
    "added": _CHANGED_THERE,
    "drained": _CHANGED_THERE,
    "scaled": _CHANGED_THERE,
    "strict": _AS_WRITTEN,
    "validate": _AS_WRITTEN,
}
"""Parameters of `moorage simulate` without meaning for tables and scenarios, and the remedy."""


def is_scenario(paths: Sequence[str]) -> bool:
    """Whether the given paths are a scenario, and not manifests."""
    return len(paths) == 1 and scenario_file.is_scenario(paths[0])


def refuse_options_of_manifests(output: str) -> None:
    """Raise an InputError that names every given option that would have no effect."""
    given = given_options(OF_MANIFESTS)
    problems = [f"{option}: {OF_MANIFESTS[name]}" for name, option in given.items()]
    if output == "wide":
        problems.append(f"-o wide: {_IN_KPIS}")
    if problems:
        raise InputError(problems)


def play(
    paths: Sequence[str],
    nodes: str | None,
    pods: str | None,
    config: str | None,
    plugins: Sequence[str],
    seed: int,
    output: str,
    fail_on_pending: bool = False,
    shown: "FinishedRun | None" = None,
    record: RecordTo = NOT_RECORDED,
) -> int:
    """Play a scenario once and write its result; `shown` is served afterwards.

    Returns the exit code.
    """
    record.check()
    scenario = read_scenario(paths[0] if paths else None, nodes, pods)
    candidate = read_configurations([config] if config else [], plugins)[0]
    if shown is None and not record.folder:
        result = run_scenario(scenario, candidate, seed)
        _write(_compared(scenario, candidate, result), result, output)
        return _exit_code(result, fail_on_pending)
    observers = () if shown is None else shown.observers
    with recording_to(record) as recording:
        recording.applied(ConfigBundle(candidate.load()), candidate.plugins(), plugins)
        result, scheduler = run_scenario_observed(
            scenario, candidate, seed, observers, recording.tap_of
        )
    found = _compared(scenario, candidate, result)
    _write(found, result, output)
    if shown is not None:
        shown.serve(scheduler, kpis=comparison_output.kpi_rows(found))
    return _exit_code(result, fail_on_pending)


def _exit_code(result: RunResult, fail_on_pending: bool) -> int:
    if result.errors:
        return FAILED
    return PENDING if fail_on_pending and result.gave_up else DONE


def _compared(scenario: Scenario, candidate: Candidate, result: RunResult) -> Comparison:
    refuse_nothing_done({candidate.name: [result]})
    return compare(scenario.name, __version__, {candidate.name: [result]})


def _write(found: Comparison, result: RunResult, output: str) -> None:
    data = {"seed": result.seed, "kpis": result.kpis, **found.as_data()}
    if output == "csv":
        echo(result_table.csv_text(found), nl=False)
    elif output == "json":
        comparison_output.write_json(data)
    elif output == "yaml":
        plain = msgspec.to_builtins(data)
        echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True).encode(), nl=False)
    else:
        comparison_output.print_comparison(found)
        if result.gave_up:
            echo(result.gave_up)
    comparison_output.say_what_failed(found)
