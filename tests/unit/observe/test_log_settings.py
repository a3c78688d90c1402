"""What the log says, as a configuration asks while the scheduler runs."""

import io
from collections.abc import Iterator

import pytest

from moorage.app.built_in_plugins import installed
from moorage.app.config_bundle import load_bundle
from moorage.app.config_text import ConfigText
from moorage.config.field_errors import ConfigError
from moorage.config.logging_policy import LoggingRule, LoggingSettings, LogLevel, levels
from moorage.observe import logs
from moorage.observe.logs import Logs
from tests.unit.observe.test_logs import BOUND, ERROR, SCHEDULED

MAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SEED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: scheduler-config
data:
  logging.yaml: |
    apiVersion: v1
    kind: Policy
    rules:
    - level: Info
      resources: ["pods"]
      verbs: ["schedule", "bind"]
"""


@pytest.fixture
def log() -> Iterator[Logs]:
    made = logs.configure(0, "text", io.StringIO())
    yield made
    made.close()


def said(log: Logs) -> str:
    log.flush()
    stream = log.writer._stream
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def bundle(*texts: str) -> LoggingSettings:
    given = [ConfigText(f"text-{i}", text.encode()) for i, text in enumerate(texts)]
    return load_bundle(given, installed()).logging


def test_the_seeds_policy_has_every_decision_and_binding_said(log: Logs) -> None:
    decisions = log.decisions()
    decisions.attempted(SCHEDULED)
    decisions.bound(BOUND)
    assert said(log) == ""

    log.use(bundle(MAIN, SEED))
    decisions.attempted(SCHEDULED)
    decisions.bound(BOUND)

    assert '"Scheduled" pod="default/web"' in said(log)
    assert '"Bound" pod="default/web"' in said(log)


def test_a_rule_may_silence_what_the_verbosity_would_say(log: Logs) -> None:
    log.verbosity = 4
    log.use(LoggingSettings(verbosity=4, rules=(LoggingRule(level=LogLevel.NONE),)))
    log.decisions().attempted(SCHEDULED)
    log.decisions().bound(BOUND)
    log.decisions().attempted(ERROR)

    assert "Scheduled" not in said(log)
    assert "Bound" not in said(log)
    assert "Attempt failed" in said(log)


def test_the_verbosity_of_a_configuration_counts_and_goes_back_to_the_flag(log: Logs) -> None:
    log.use(
        bundle(
            MAIN + "---\napiVersion: moorage/v1\nkind: MoorageConfiguration\n"
            "logging:\n  verbosity: 6\n"
        )
    )
    assert log.verbosity == 6
    assert '"Verbosity changed" before=0 now=6' in said(log)

    log.use(bundle(MAIN))
    assert log.verbosity == 0


def test_of_two_rules_about_a_verb_the_first_counts() -> None:
    first = LoggingRule(level=LogLevel.DEBUG, verbs=("bind",))

    assert levels([first, LoggingRule(verbs=("*",))]) == {
        "bind": LogLevel.DEBUG,
        "schedule": LogLevel.INFO,
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rules: [{level: Loud}]", "rules[0].level"),
        ("rules: [{verbs: [fly]}]", "rules[0].verbs[0]"),
        ("rules: [{resources: [secrets]}]", "rules[0].resources[0]"),
        ("predicates: []", "predicates"),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(text: str, place: str) -> None:
    with pytest.raises(ConfigError) as error:
        bundle(MAIN, f"apiVersion: v1\nkind: Policy\n{text}\n")

    assert place in str(error.value)


def test_a_changed_rule_is_another_configuration() -> None:
    given = [ConfigText("main", MAIN.encode())]
    policy = ConfigText("map", b"apiVersion: v1\nkind: Policy\nrules: [{level: None}]\n")

    assert (
        load_bundle(given, installed()).digest()
        != load_bundle([*given, policy], installed()).digest()
    )
