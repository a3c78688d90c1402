"""Tuning: values are searched on some seeds, and the best ones are judged on others."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Final

import msgspec

from moorage.config.field_errors import ConfigError, InputError
from moorage.config.plugin_catalogue import closest_name, did_you_mean
from moorage.simulate import sweep
from moorage.simulate.candidate import Candidate
from moorage.simulate.comparison import Comparison, Difference, Outcome, compare
from moorage.simulate.kpi_names import kpi_path
from moorage.simulate.scenario import Scenario
from moorage.simulate.search_space import Parameter, SearchSpace, Value, with_values

TUNED: Final = "tuned"
_BAD: Final = 1e18
"""The worth of a configuration that cannot run."""


class Objective(msgspec.Struct, frozen=True):
    """A KPI to make small, or large."""

    kpi: str
    maximise: bool = False

    def of(self, outcome: Outcome) -> float:
        """The worth of a configuration by this objective; less is better."""
        found = outcome.intervals.get(self.kpi)
        if found is None:
            similar = did_you_mean(closest_name(self.kpi, outcome.intervals))
            raise InputError([f"--objective: no run has measured {self.kpi!r}{similar}"])
        return -found.mean if self.maximise else found.mean

    def improved_by(self, difference: Difference) -> bool:
        """Whether a change is a significant improvement."""
        return difference.is_significant and (difference.mean > 0) == self.maximise


def read_objectives(texts: Sequence[str]) -> list[Objective]:
    """`cost`, `p95_wait`, `max:fairness`."""
    found = []
    for text in texts:
        name = text.removeprefix("max:").removeprefix("min:").strip()
        found.append(Objective(kpi_path(name, f"--objective {text}"), text.startswith("max:")))
    return found


class Tuned(msgspec.Struct, frozen=True):
    """The best values, their results on the held-out seeds, and whether those are better."""

    candidate: Candidate
    values: dict[str, Value]
    trials: int
    held_out: Comparison
    is_better: bool
    verdict: str
    whole: bool = True


Trial = Callable[[int, Mapping[str, Value], Sequence[float]], None]
"""Is called after a trial: its number, its values, and each objective, if it could run."""


class Tuner:
    """Searches a space for one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        base: Candidate,
        space: SearchSpace,
        objectives: Sequence[Objective],
        executor: Executor | None,
    ) -> None:
        self._scenario = scenario
        self._base = base
        self._space = space
        self._objectives = objectives
        self._executor = executor

    def run(self, seeds: Sequence[int], trials: int, tell: Trial, version: str) -> Tuned:
        """Search on the first half of the seeds, and judge on the rest; Ctrl-C ends the search."""
        half = len(seeds) // 2
        if half < 1:
            raise InputError(["--seeds: tuning needs two at least: one to search, one to judge"])
        training, held_out = seeds[:half], seeds[half:]
        given = self._worth(self._base, training)
        values, made, whole = self._search(training, trials, tell, given)
        best = with_values(self._base, values, TUNED)
        best.load()
        tasks = sweep.tasks_of([self._named_base(), best], held_out)
        results, judged = sweep.run_all(self._scenario, tasks, self._executor)
        found = compare(self._scenario.name, version, results)
        is_better, verdict = self._judge(found)
        return Tuned(best, values, made, found, is_better, verdict, whole and judged)

    def _named_base(self) -> Candidate:
        return msgspec.structs.replace(self._base, name="given")

    def _worth(self, candidate: Candidate, seeds: Sequence[int]) -> list[float]:
        results, whole = sweep.run_all(
            self._scenario, sweep.tasks_of([candidate], seeds), self._executor
        )
        if not whole:
            raise KeyboardInterrupt
        outcome = compare("", "", results).configurations[0]
        return [objective.of(outcome) for objective in self._objectives]

    def _search(
        self, seeds: Sequence[int], trials: int, tell: Trial, given: Sequence[float]
    ) -> tuple[dict[str, Value], int, bool]:
        """The values of the best trial, the number of trials, and whether all were made."""
        optuna = _optuna()
        study = optuna.create_study(
            directions=["minimize"] * len(self._objectives),
            sampler=optuna.samplers.TPESampler(seed=seeds[0], n_startup_trials=min(10, trials)),
        )
        whole, refused = True, list[str]()
        for number in range(trials):
            trial = study.ask()
            values = {p.path: _suggest(trial, p) for p in self._space.parameters}
            worth = []
            try:
                worth = self._worth(with_values(self._base, values, f"trial-{number}"), seeds)
            except ConfigError as error:
                refused.append(f"trial {number}: {error.problems[0].message}")
            except KeyboardInterrupt:
                whole = False
                break
            study.tell(trial, worth or [_BAD] * len(self._objectives))
            tell(number, values, worth)
        if not study.trials or not study.best_trials:
            raise InputError(["interrupted before the first trial was done"])
        if len(refused) == len(study.trials) - (not whole):
            raise InputError([f"--space: no trial was a valid configuration: {refused[0]}"])
        done = [each for each in study.best_trials if each.values]
        best = min(done, key=lambda each: (_total(each.values, given), each.number))
        return dict(best.params), len(study.trials) - (not whole), whole

    def _judge(self, found: Comparison) -> tuple[bool, str]:
        """Whether the tuned configuration is better than the given one, and a verdict in words."""
        pair = ("given", TUNED)
        by_kpi = {each.kpi: each for each in found.differences if each.configurations == pair}
        better, lines = [], []
        for objective in self._objectives:
            difference = by_kpi[objective.kpi]
            improved = objective.improved_by(difference)
            better.append(improved)
            harmed = difference.is_significant and not improved
            words = "better" if improved else "WORSE" if harmed else "no different beyond chance"
            low, high = difference.low, difference.high
            between = "" if low is None or high is None else f" [{low:+.4g}, {high:+.4g}]"
            lines.append(f"{objective.kpi} {difference.mean:+.4g}{between}: {words}")
        is_better = any(better) and not any("WORSE" in line for line in lines)
        seeds = len(found.configurations[0].seeds)
        head = (
            "better than what was given"
            if is_better
            else "NOT better than what was given: keep what you have"
        )
        return is_better, f"on {seeds} held-out seeds {head}: {'; '.join(lines)}"


def _suggest(trial: Any, parameter: Parameter) -> Value:
    if parameter.choices:
        chosen: Value = trial.suggest_categorical(parameter.path, list(parameter.choices))
        return chosen
    low, high = parameter.low or 0.0, parameter.high or 0.0
    if parameter.whole:
        return int(trial.suggest_int(parameter.path, int(low), int(high), log=parameter.log))
    return float(trial.suggest_float(parameter.path, low, high, log=parameter.log))


def _total(worth: Sequence[float], given: Sequence[float]) -> float:
    """How much worse than the given worth: the sum of the relative changes of all objectives."""
    return math.fsum(
        (value - base) / abs(base) if base else value
        for value, base in zip(worth, given, strict=True)
    )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError(["tuning needs Optuna: pip install 'moorage[tune]'"]) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def require_optuna() -> None:
    """Raise an InputError, before anything is run, if Optuna is missing."""
    _optuna()
