"""Arrivals drawn at random from a seed: a Poisson stream, by time of day, in bursts, by cron."""

import heapq
import math
import random
from collections.abc import Iterator
from datetime import datetime

from moorage.simulate.cron_schedule import CronSchedule
from moorage.simulate.pod_template import PodTemplate
from moorage.simulate.scenario import Arrival
from moorage.simulate.scenario_schema import CronJob, Diurnal, Generator, RunningTime

HOUR = 3600.0
DAY = 24 * HOUR


class GeneratedArrivals:
    """The pods of one generator; `label` is unique among the generators and seeds its draws."""

    def __init__(
        self,
        generator: Generator,
        templates: tuple[PodTemplate, ...],
        start: datetime,
        label: str,
    ) -> None:
        self._generator = generator
        self._templates = templates
        self._start = start
        self._label = label

    def arrivals(self, seed: int) -> Iterator[Arrival]:
        """The pods of one run, drawn lazily."""
        generator, label = self._generator, self._label
        drawing = [random.Random(f"{seed}/{label}/{what}") for what in ("times", "bursts", "pods")]
        times = heapq.merge(
            _stream(generator, self._start, drawing[0]), _bursts(generator, drawing[1])
        )
        weights = [shape.weight for shape in generator.pods]
        kinds, rng = range(len(weights)), drawing[2]
        for index, time in enumerate(times):
            chosen = rng.choices(kinds, weights)[0]
            shape, template = generator.pods[chosen], self._templates[chosen]
            name = f"{shape.name}-{label}{index}"
            duration = running_time(shape.runs, rng)
            if not shape.gang:
                yield Arrival(time, name, template, duration)
                continue
            for member in range(shape.gang):
                yield Arrival(time, f"{name}-{member}", template, duration, name, shape.gang)


class CronArrivals:
    """The pods of one CronJob: they come by its schedule, and run for as long as is drawn."""

    def __init__(self, job: CronJob, template: PodTemplate, start: datetime, label: str) -> None:
        self._job = job
        self._template = template
        self._start = start
        self._label = label

    def arrivals(self, seed: int) -> Iterator[Arrival]:
        """The pods of one run."""
        job, rng = self._job, random.Random(f"{seed}/cron/{self._label}")
        for time in CronSchedule(job.schedule).times(self._start, job.seconds):
            for index in range(job.parallelism):
                name = f"{job.pod.name}-{int(time)}-{index}"
                yield Arrival(time, name, self._template, running_time(job.pod.runs, rng))


def running_time(given: RunningTime | None, rng: random.Random) -> float | None:
    """How long one pod runs, in seconds; None means for ever."""
    if given is None:
        return None
    mean = given.mean_seconds
    match given.distribution:
        case "fixed":
            return mean
        case "exponential":
            return rng.expovariate(1 / mean)
        case "uniform":
            return rng.uniform(0, 2 * mean)
        case "lognormal":
            return rng.lognormvariate(math.log(mean) - given.sigma**2 / 2, given.sigma)


def _stream(generator: Generator, start: datetime, rng: random.Random) -> Iterator[float]:
    """The times of a Poisson stream, thinned from its highest rate to the rate of each time."""
    if not generator.per_hour:
        return
    now, end = generator.from_seconds, generator.from_seconds + generator.seconds
    midnight = start.hour * HOUR + start.minute * 60 + start.second
    while (now := now + rng.expovariate(generator.per_hour / HOUR)) < end:
        if generator.diurnal is None or rng.random() < _rate(generator.diurnal, midnight + now):
            yield now


def _rate(diurnal: Diurnal, second: float) -> float:
    """The rate at a second of the day, as a fraction of the highest rate."""
    wave = (1 + math.cos(2 * math.pi * (second - diurnal.peak_hour * HOUR) / DAY)) / 2
    return diurnal.low + (1 - diurnal.low) * wave


def _bursts(generator: Generator, rng: random.Random) -> Iterator[float]:
    """The times of all bursts; a burst is cut where the next one begins."""
    bursts = generator.bursts
    if bursts is None:
        return
    width = min(bursts.over_seconds, bursts.every_seconds)
    number = 0
    while (offset := number * bursts.every_seconds) < generator.seconds:
        begin = generator.from_seconds + offset
        yield from sorted(begin + rng.uniform(0, width) for _ in range(bursts.pods))
        number += 1
