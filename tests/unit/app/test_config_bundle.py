"""All texts together: one configuration with its policies and canaries, or everything wrong."""

from typing import Any

import pytest
import yaml

from moorage.api.cluster_objects import ConfigMap
from moorage.api.meta import ObjectMeta
from moorage.app import built_in_plugins, config_bundle, config_text
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_text import ConfigText
from moorage.config.field_errors import ConfigError

KNOWN = built_in_plugins.built_in()
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "moorage",
            "plugins": {"multiPoint": {"enabled": [{"name": "SchedulingPolicies"}]}},
        }
    ],
}
CANARY: dict[str, Any] = {
    "apiVersion": "moorage/v1",
    "kind": "ProfileCanary",
    "metadata": {"name": "v2"},
    "spec": {
        "schedulerName": "moorage",
        "percent": 10,
        "profile": CONFIG["profiles"][0],
    },
}


def policy(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def file(name: str, *documents: dict[str, Any]) -> ConfigText:
    return ConfigText(name, yaml.safe_dump_all(documents).encode())


def config_map(name: str, **data: Any) -> ConfigText:
    entries = {f"{key}.yaml": yaml.safe_dump(value) for key, value in data.items()}
    meta = ObjectMeta(name=name, namespace="kube-system")
    return config_text.text_of_config_map(ConfigMap(metadata=meta, data=entries))


def load(*given: ConfigText) -> ConfigBundle:
    return config_bundle.load_bundle(given, KNOWN)


def policies_of(found: ConfigBundle) -> list[str]:
    (args,) = (
        config.args
        for config in found.configuration.profiles[0].plugin_config
        if config.name == "SchedulingPolicies"
    )
    return [each["metadata"]["name"] for each in args["policies"]]


def test_policies_of_a_config_map_join_the_configuration_of_a_file() -> None:
    found = load(
        file("scheduler.yaml", CONFIG),
        config_map("policies", gpu=policy("gpu"), batch=policy("batch")),
    )

    assert policies_of(found) == ["gpu", "batch"]
    assert found.warnings == ()


def test_canaries_get_the_policies_too() -> None:
    (found,) = load(file("f", CONFIG, CANARY, policy("batch"))).canaries

    args = {config.name: config.args for config in found.spec.profile.plugin_config}
    assert [each["metadata"]["name"] for each in args["SchedulingPolicies"]["policies"]] == [
        "batch"
    ]


def test_policies_that_no_profile_applies_are_told_of() -> None:
    plain = {**CONFIG, "profiles": [{"schedulerName": "moorage"}]}

    assert load(file("f", plain, policy("batch"))).warnings == (config_bundle.UNAPPLIED,)


ADAPTIVE = {"enabled": [{"name": "AdaptiveSchedulingPlugin"}]}
LEARNS_NOTHING = (
    'profile "moorage" runs AdaptiveSchedulingPlugin at score and not at reserve, so it learns '
    "nothing from what becomes of pods, and goals have no effect: enable it at multiPoint"
)


@pytest.mark.parametrize(
    ("plugins", "want"),
    [
        pytest.param({"multiPoint": ADAPTIVE}, (), id="at all points"),
        pytest.param({"score": ADAPTIVE, "reserve": ADAPTIVE}, (), id="at both, by name"),
        pytest.param({"score": ADAPTIVE}, (LEARNS_NOTHING,), id="at score alone"),
        pytest.param(
            {"multiPoint": ADAPTIVE, "reserve": {"disabled": [{"name": "*"}]}},
            (LEARNS_NOTHING,),
            id="with all of Reserve disabled",
        ),
    ],
)
def test_a_plugin_that_is_not_told_of_placements_learns_nothing(
    plugins: dict[str, Any], want: tuple[str, ...]
) -> None:
    profile = {"schedulerName": "moorage", "plugins": plugins}

    assert load(file("f", {**CONFIG, "profiles": [profile]})).warnings == want


def test_nor_does_it_in_a_canary() -> None:
    profile = {"schedulerName": "moorage", "plugins": {"score": ADAPTIVE}}
    canary = {**CANARY, "spec": {**CANARY["spec"], "profile": profile}}

    assert load(file("f", CONFIG, canary)).warnings == (LEARNS_NOTHING,)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            [file("a.yaml", policy("batch"))],
            'a.yaml: no document with "kind: KubeSchedulerConfiguration"',
            id="no configuration",
        ),
        pytest.param(
            [file("a.yaml", CONFIG), config_map("m", scheduler=CONFIG)],
            "where one is expected: a.yaml, ConfigMap kube-system/m",
            id="two configurations",
        ),
        pytest.param(
            [file("a.yaml", CONFIG, policy("batch")), config_map("m", batch=policy("batch"))],
            'ConfigMap kube-system/m: metadata.name: Duplicate value: "batch"',
            id="two policies of one name",
        ),
        pytest.param(
            [
                file("a.yaml", CONFIG),
                config_map("m", one={**policy("x"), "kind": "SchedulingPolcy"}),
            ],
            'ConfigMap kube-system/m: data[one.yaml]: kind: "SchedulingPolcy" is not read',
            id="a kind that was misspelt in a ConfigMap",
        ),
        pytest.param(
            [file("a.yaml", CONFIG), config_map("m", one=policy("x", resourceWeights={"cpu": 0}))],
            "spec.resourceWeights.cpu: Invalid value: 0",
            id="a policy that is wrong",
        ),
        pytest.param(
            [file("a.yaml", CONFIG, CANARY), file("b.yaml", CANARY)],
            'b.yaml: v2: spec.schedulerName: Duplicate value: "moorage"',
            id="two canaries of one profile",
        ),
    ],
)
def test_what_is_wrong_is_refused(given: list[ConfigText], want: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(*given)

    assert want in str(caught.value)


def test_everything_wrong_is_told_at_once() -> None:
    wrong = [
        file("a.yaml", {**CONFIG, "surprise": 1}),
        config_map("m", one=policy("x", resourceWeights={"cpu": 0}), two={"kind": "Pod"}),
    ]
    with pytest.raises(ConfigError) as caught:
        load(*wrong)

    places = {problem.place for problem in caught.value.problems}
    assert places == {"surprise", "spec.resourceWeights.cpu", "kind"}


def test_the_digest_names_everything_that_decides() -> None:
    plain = load(file("f", CONFIG))
    others = [
        plain.digest(["plugin file"]),
        load(file("f", CONFIG, policy("batch"))).digest(),
        load(file("f", CONFIG, CANARY)).digest(),
        load(file("f", {**CONFIG, "podMaxBackoffSeconds": 20})).digest(),
    ]

    assert len({plain.digest(), *others}) == 5
    assert (
        plain.digest()
        == load(ConfigText("g", b"# said otherwise\n" + yaml.dump(CONFIG).encode())).digest()
    )
