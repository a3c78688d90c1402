"""The kustomization of the tutorial on plugins builds, and mounts the plugin where it is named."""

import pytest

from tests.deploy.tools import of_kind

EXAMPLE = "../examples/plugin-file"


@pytest.mark.kube
def test_the_plugin_is_where_the_command_line_says() -> None:
    (deployment,) = of_kind(EXAMPLE, "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    (scheduler,) = spec["containers"]
    (mount,) = [m for m in scheduler["volumeMounts"] if m["name"] == "config"]
    (volume,) = [v for v in spec["volumes"] if v["name"] == "config"]
    name = volume["configMap"]["name"]
    (config,) = [m for m in of_kind(EXAMPLE, "ConfigMap") if m["metadata"]["name"] == name]

    given = dict(arg.removeprefix("--").split("=", 1) for arg in scheduler["args"] if "=" in arg)

    for flag in ("config", "plugin"):
        folder, _, file = given[flag].rpartition("/")
        assert folder == mount["mountPath"]
        assert file in config["data"]
