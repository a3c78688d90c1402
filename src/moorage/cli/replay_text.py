"""The result of a replay as text."""

import datetime

from rich.console import Console

from moorage.recording.divergence import Difference, Divergence, words
from moorage.recording.play import Played, Stop


def print_played(played: Played, console: Console) -> None:
    """Print whether every decision was the same, or which one differs."""
    if played.divergence is not None:
        _print_divergence(played.divergence, played.attempts, console)
    else:
        span = f"{_time(played.began)} to {_time(played.ended)}"
        console.print(
            f"{played.attempts} attempts, {span}: every decision is the same.", soft_wrap=True
        )
    if played.late:
        console.print(f"{played.late} attempts failed because a plugin was late: not repeated.")


def print_attempt(stop: Stop, console: Console) -> None:
    """Print the attempt at which a replay stands, and its result then."""
    if stop.entry is None:
        return
    entry, pod = stop.entry, stop.replay.pods[stop.entry.uid].pod
    console.print(f"[bold]Attempt {entry.id}[/] at {_time(entry.now)}: {pod.key}", soft_wrap=True)
    console.print(f"  {words(entry.outcome)}", soft_wrap=True)


def _print_divergence(found: Divergence, attempts: int, console: Console) -> None:
    console.print(f"[bold]Attempt {found.attempt}[/] at {_time(found.now)} differs: {found.pod}")
    console.print(f"  then: {found.then}", soft_wrap=True)
    console.print(f"  here: {found.here}", soft_wrap=True)
    _print_differences("What plugins say", found.differences, console)
    _print_differences("Code that differs", found.changed, console)
    if found.plugins:
        console.print(f"Look at {', '.join(found.plugins)}.")
    else:
        console.print(
            "No plugin's code differs, and none speaks otherwise of the node chosen then."
        )
    console.print(f"The {attempts - 1} attempts before it are the same.")


def _print_differences(title: str, differences: tuple[Difference, ...], console: Console) -> None:
    if not differences:
        return
    console.print(f"{title}:")
    for each in differences:
        console.print(f"  {each.plugin}", soft_wrap=True)
        console.print(f"    then: {each.then}", soft_wrap=True)
        console.print(f"    here: {each.here}", soft_wrap=True)


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
