"""A document, wherever it stands, becomes a configuration; messages say where things are."""

import pytest

from moorage.config.field_errors import ConfigError
from moorage.config.loader import default_configuration, load

WRITTEN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins:
    score:
      enabled:
      - name: ImageLocality
      - name: NodeAffinity
        weight: heavy
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: LeastAlocated
"""


@pytest.mark.parametrize("document", [WRITTEN, WRITTEN.encode()], ids=["text", "bytes"])
def test_each_problem_has_its_line_and_its_path(document: str | bytes) -> None:
    with pytest.raises(ConfigError) as error:
        load(document, source="s.yaml")

    weight, kind = error.value.problems
    assert (weight.line, weight.place) == (10, "profiles[0].plugins.score.enabled[1].weight")
    assert (kind.line, kind.place) == (
        15,
        "profiles[0].pluginConfig[0].args.scoringStrategy.type",
    )
    assert str(error.value).splitlines() == [
        "s.yaml:10: profiles[0].plugins.score.enabled[1].weight: expected an integer, got text",
        "s.yaml:15: profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "
        '"LeastAlocated": supported values: "LeastAllocated", "MostAllocated", '
        '"RequestedToCapacityRatio"',
    ]


def test_without_a_source_the_line_is_named_all_the_same() -> None:
    with pytest.raises(ConfigError, match=r"^line 10: profiles\[0\]"):
        load(WRITTEN)


def test_a_name_that_is_empty_is_said_once() -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: a}, {schedulerName: ""}]
"""
    with pytest.raises(ConfigError) as error:
        load(text)

    assert str(error.value) == "line 3: profiles[1].schedulerName: Required value"


def test_what_is_not_there_is_placed_at_what_surrounds_it() -> None:
    text = WRITTEN.replace("- schedulerName: mine\n ", "- {}\n-", 1)

    with pytest.raises(ConfigError) as error:
        load(text, source="s")

    assert "s:4: profiles[0].schedulerName: Required value" in str(error.value)
    assert "s:5: profiles[1].schedulerName: Required value" in str(error.value)


def test_a_configuration_inside_a_config_map() -> None:
    indented = "".join(f"    {line}" for line in WRITTEN.splitlines(keepends=True))
    head = "kind: ConfigMap\nmetadata: {name: m}\ndata:\n  s.yaml: |\n"

    with pytest.raises(ConfigError) as error:
        load(head + indented, source="cm.yaml")

    assert str(error.value.problems[0]) == (
        "cm.yaml:14: ConfigMap m data[s.yaml]: profiles[0].plugins.score.enabled[1].weight: "
        "expected an integer, got text"
    )


@pytest.mark.parametrize("version", ["[v1]", "{v: 1}", "1"])
def test_a_version_that_is_no_text_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=r"^line 1: apiVersion: Unsupported value: "):
        load(f"apiVersion: {version}\nkind: KubeSchedulerConfiguration\n")


def test_an_empty_configuration_is_the_default_one() -> None:
    text = "\n".join(WRITTEN.splitlines()[:2])

    assert load(text).configuration == default_configuration()


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        load("kind: Deployment", source="d.yaml")

    assert str(error.value) == (
        'd.yaml: no document with "kind: KubeSchedulerConfiguration"; found kinds: Deployment'
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("profiles: mine", "profiles: expected a list, got text", id="text"),
        pytest.param("profiles: [mine]", "profiles[0]: expected a mapping, got text", id="items"),
        pytest.param(
            "profiles: [{plugins: [score]}]",
            "profiles[0].plugins: expected a mapping, got a list",
            id="a list of points",
        ),
        pytest.param(
            "profiles: [{plugins: {score: {enabled: [A, {name: B, wait: 1}]}}}]",
            "profiles[0].plugins.score.enabled[1].wait: unknown field\n"
            "line 3: profiles[0].plugins.score.enabled[0]: expected a mapping, got text",
            id="plugins by name alone",
        ),
        pytest.param(
            "profiles: [{extenders: [{}]}]\nextenders: {weight: 1}",
            "profiles[0].extenders: unknown field\n"
            "line 4: extenders: expected a list, got a mapping",
            id="extenders of both kinds",
        ),
        pytest.param("extenders: {}", "extenders: expected a list, got a mapping", id="extenders"),
    ],
)
def test_shapes(line: str, problem: str) -> None:
    text = "\n".join([*WRITTEN.splitlines()[:2], line])

    with pytest.raises(ConfigError) as error:
        load(text)

    assert str(error.value) == f"line 3: {problem}"
