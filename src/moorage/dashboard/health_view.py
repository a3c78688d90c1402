"""The state of the process as JSON: checks, leader, watches, feeds, API latency, and alerts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from moorage.feeds.feeds import Feed
from moorage.observe.metric_families import Tally
from moorage.serve.health import Check
from moorage.watch.reflector import Reflector

STALE_READS: Final = 3
"""A feed that was not read for this many of its intervals is stale."""
SILENT_SECONDS: Final = 120.0
"""Seconds without an event after which a watch is late; bookmarks come about every minute."""


class ApiAnswers(NamedTuple):
    """How long the API server took for requests, and how many requests failed."""

    durations: Tally
    failed: int


def _nobody() -> dict[str, Any]:
    return {}


class HealthSource(NamedTuple):
    """What can be healthy or not; each part is read when somebody looks."""

    checks: Callable[[], Iterable[Check]] = tuple
    leader: Callable[[], dict[str, Any]] = _nobody
    watches: Callable[[], Iterable[Reflector]] = tuple
    feeds: Callable[[], Iterable[Feed]] = tuple
    api: Callable[[], ApiAnswers | None] = lambda: None
    plugins: Callable[[], list[dict[str, Any]]] = list
    """The rows of `plugin_rows`; open breakers cause alerts."""


class HealthView:
    """Answers requests for the state of the process."""

    def __init__(self, source: HealthSource, now: Callable[[], float]) -> None:
        self._source = source
        self._now = now
        self._failed: tuple[float, int] | None = None

    def page(self) -> dict[str, Any]:
        """All checks, values and alerts."""
        source = self._source
        checks = [_checked(check) for check in source.checks()]
        watches = [self._watch(each) for each in source.watches()]
        feeds = [_feed(each) for each in source.feeds()]
        return {
            "checks": checks,
            "leader": source.leader(),
            "watches": watches,
            "feeds": feeds,
            "api": self._api(source.api()),
            "alerts": [
                *_check_alerts(checks),
                *_watch_alerts(watches),
                *_feed_alerts(feeds),
                *_plugin_alerts(source.plugins()),
            ],
        }

    def summary(self) -> dict[str, Any]:
        """Whether everything is well, and the number of alerts."""
        found = self.page()
        return {"ok": all(each["ok"] for each in found["checks"]), "alerts": len(found["alerts"])}

    def _watch(self, watch: Reflector) -> dict[str, Any]:
        return {
            "resource": watch.resource.plural,
            "group": watch.resource.group,
            "state": watch.state,
            "age_s": round(max(0.0, self._now() - watch.heard_at), 1),
            "relists": watch.failures,
            "objects": len(watch.known),
        }

    def _api(self, answers: ApiAnswers | None) -> dict[str, Any]:
        if answers is None or not answers.durations.count:
            return {"p50_ms": None, "p99_ms": None, "errors_per_s": None}
        now, before = self._now(), self._failed
        self._failed = (now, answers.failed)
        rate = 0.0
        if before is not None and now > before[0]:
            rate = (answers.failed - before[1]) / (now - before[0])
        return {
            "p50_ms": tally_quantile(answers.durations, 0.5),
            "p99_ms": tally_quantile(answers.durations, 0.99),
            "errors_per_s": round(rate, 3),
        }


def tally_quantile(tally: Tally, part: float) -> float | None:
    """A quantile in milliseconds, approximately: the upper bound of its bucket."""
    wanted, seen = part * tally.count, 0
    if not wanted:
        return None
    for bound, count in zip(tally.bounds, tally.counts, strict=False):
        seen += count
        if seen >= wanted:
            return round(bound * 1000, 3)
    return round(tally.bounds[-1] * 1000, 3)


def _checked(check: Check) -> dict[str, Any]:
    why = check.why()
    return {"name": check.name, "ok": why is None, "text": why or ""}


def _feed(feed: Feed) -> dict[str, Any]:
    late = feed.age > STALE_READS * feed.source.seconds
    known = feed.reading is not None
    return {"name": feed.source.name, "age_s": round(feed.age, 1), "ok": known and not late}


def _alert(severity: str, text: str, remedy: str) -> dict[str, str]:
    return {"severity": severity, "text": text, "remedy": remedy}


def _check_alerts(checks: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for check in checks:
        if not check["ok"]:
            remedy = "nothing is attempted until it is well: see docs/operations.md"
            yield _alert("critical", f"{check['name']}: {check['text']}", remedy)


def _watch_alerts(watches: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for watch in watches:
        name = watch["resource"]
        if watch["state"] == "waiting":
            text = f"the watch of {name} failed, and waits to try again"
            yield _alert("warning", text, f"may the scheduler list and watch {name}? see its log")
        elif watch["state"] == "watching" and watch["age_s"] > SILENT_SECONDS:
            text = f"the watch of {name} has brought nothing for {watch['age_s']:.0f} s"
            yield _alert("warning", text, "is the API server, or what is between, overloaded?")


def _feed_alerts(feeds: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for feed in feeds:
        if not feed["ok"]:
            text = f"feed {feed['name']} was not read for {feed['age_s']:.0f} s"
            yield _alert("warning", text, "policies that ask for it go without: see the log")


def _plugin_alerts(plugins: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for plugin in plugins:
        if plugin["breaker"] in ("open", "half-open"):
            text = f"plugin {plugin['name']} of {plugin['profile']} is switched off: "
            yield _alert(
                "warning", text + plugin.get("last_failure", ""), "mend it, or leave it out"
            )
