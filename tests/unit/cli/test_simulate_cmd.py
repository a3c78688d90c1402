"""`moorage simulate`: what it shows, and what it says of bad input."""

import gc
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import main

NODE = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
EMPTY = '{"apiVersion": "v1", "kind": "List", "items": [], "metadata": {"resourceVersion": ""}}'


def simulate(tmp_path: Path, *arguments: str, **files: str) -> Result:
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    return CliRunner().invoke(main, ["simulate", *arguments])


def test_a_table_shows_where_pods_went(tmp_path: Path) -> None:
    result = simulate(tmp_path, str(tmp_path), all_yaml=f"{NODE}---{POD}")

    assert result.exit_code == 0, result.output
    assert "1 of 1 pods placed on 1 nodes" in result.stdout


def test_garbage_is_looked_for_in_nothing_that_stays(tmp_path: Path) -> None:
    """Nor is what was imported thawed: a process that ends would look through all of it."""
    whole: list[str] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            whole.append(phase)

    gc.callbacks.append(collected)
    try:
        gc.collect()
        assert whole == ["start"]
        gc.freeze()
        before = gc.get_freeze_count()
        result = simulate(tmp_path, str(tmp_path), all_yaml=f"{NODE}---{POD}")
    finally:
        gc.callbacks.remove(collected)

    assert result.exit_code == 0, result.output
    assert whole == ["start"]
    assert gc.get_freeze_count() > before / 2 > 0


@pytest.mark.parametrize(
    ("metadata", "phase", "left"),
    [
        pytest.param(
            "deletionGracePeriodSeconds: 30, finalizers: [a.b/c]",
            "Running",
            ["old", "web"],
            id="a finalizer keeps a pod beyond its grace period",
        ),
        pytest.param(
            "deletionGracePeriodSeconds: 0, finalizers: [a.b/c]",
            "Running",
            ["old", "web"],
            id="or one whose grace period is over",
        ),
        pytest.param(
            "finalizers: [a.b/c]", "Running", ["old", "web"], id="or one without a grace period"
        ),
        pytest.param("finalizers: [a.b/c]", "Failed", ["old", "web"], id="or one that has failed"),
        pytest.param(
            "deletionGracePeriodSeconds: 30",
            "Running",
            ["web"],
            id="without finalizers it leaves when its grace period ends",
        ),
        pytest.param(
            "deletionGracePeriodSeconds: 0",
            "Running",
            ["web"],
            id="or at once where that is over",
        ),
        pytest.param("labels: {}", "Running", ["web"], id="or where it has none"),
    ],
)
def test_a_pod_that_is_terminating_keeps_no_run_going(
    tmp_path: Path, metadata: str, phase: str, left: list[str]
) -> None:
    pod = f"""
apiVersion: v1
kind: Pod
metadata:
  {{name: old, uid: u-1, creationTimestamp: "2023-01-01T00:00:00Z",
    deletionTimestamp: "2024-01-01T00:00:00Z", {metadata}}}
spec: {{nodeName: a, containers: [{{name: c, image: i}}]}}
status: {{phase: {phase}}}
"""

    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_yaml=f"{NODE}---{POD}---{pod}")

    assert result.exit_code == 0, result.output
    assert [pod["name"] for pod in json.loads(result.stdout)["pods"]] == left


def test_a_version_that_a_group_does_not_have_is_said(tmp_path: Path) -> None:
    pod = POD.replace("apiVersion: v1", "apiVersion: v2")

    result = simulate(tmp_path, str(tmp_path), all_yaml=f"{NODE}---{pod}")

    assert result.exit_code == 0, result.output
    assert "1 of 1 pods placed" in result.stdout
    wrong = 'no matches for kind "Pod" in version "v2": that of a Pod is v1; taken as that'
    assert f"all.yaml, document 2: {wrong}" in result.stderr


def test_copies_of_a_pod_are_pods_of_their_own(tmp_path: Path) -> None:
    copied = POD.replace(
        "name: web", 'name: {}, uid: u-1, creationTimestamp: "2023-01-01T00:00:00Z"'
    )
    pods = "---".join(copied.replace("{}", name, 1) for name in ("one", "two", "three"))

    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_yaml=f"{NODE}---{pods}")

    assert [pod["node"] for pod in json.loads(result.stdout)["pods"]] == ["a"] * 3
    (warning,) = result.stderr.splitlines()
    assert "all.yaml, document 3: Pod two has the metadata.uid of Pod one in " in warning
    assert "all.yaml, document 2, and 1 more are copies, too" in warning


def test_a_pod_that_waits_while_it_is_deleted_is_told_so(tmp_path: Path) -> None:
    leaving = 'name: web, deletionTimestamp: "2024-01-01T00:00:00Z", finalizers: [a.b/c]'
    pod = POD.replace("name: web", leaving)

    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_yaml=f"{NODE}---{pod}")

    (told,) = json.loads(result.stdout)["pods"]
    assert told["message"] == "it is being deleted; it is left alone"


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_data_comes_as_json_or_yaml(tmp_path: Path, output: str) -> None:
    result = simulate(tmp_path, str(tmp_path), "-o", output, all_yaml=f"{NODE}---{POD}")

    data = json.loads(result.stdout) if output == "json" else yaml.safe_load(result.stdout)
    assert [(pod["name"], pod["node"]) for pod in data["pods"]] == [("web", "a")]
    assert data["nodes"][0]["resources"]["cpu"] == {"requested": 1000, "allocatable": 4000}


def test_a_pending_pod_shows_the_exact_text(tmp_path: Path) -> None:
    big = POD.replace('cpu: "1"', 'cpu: "9"')

    result = simulate(tmp_path, str(tmp_path), all_yaml=f"{NODE}---{big}")

    assert result.exit_code == 0
    assert "0/1 nodes are available: 1 Insufficient cpu." in result.stdout


@pytest.mark.parametrize(
    ("workload", "pods"),
    [
        pytest.param("Deployment", 3, id="a Deployment becomes its replicas"),
        pytest.param("ReplicaSet", 3, id="so does a ReplicaSet"),
        pytest.param("StatefulSet", 3, id="and a StatefulSet"),
        pytest.param("DaemonSet", 1, id="a DaemonSet becomes a pod per node"),
        pytest.param("Job", 2, id="a Job becomes as many pods as run in parallel"),
    ],
)
def test_workloads_become_pods(tmp_path: Path, workload: str, pods: int) -> None:
    group = "batch/v1" if workload == "Job" else "apps/v1"
    policy = "Never" if workload == "Job" else "Always"
    selector = "null" if workload == "Job" else "{matchLabels: {app: x}}"
    manifest = f"""
apiVersion: {group}
kind: {workload}
metadata: {{name: app}}
spec:
  replicas: 3
  parallelism: 2
  selector: {selector}
  template:
    metadata: {{labels: {{app: x}}}}
    spec: {{restartPolicy: {policy}, containers: [{{name: c, image: i}}]}}
"""
    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_yaml=f"{NODE}---{manifest}")

    found = json.loads(result.stdout)["pods"]
    assert [pod["node"] for pod in found] == ["a"] * pods


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    items = [yaml.safe_load(NODE), yaml.safe_load(POD)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_json=text)

    assert json.loads(result.stdout)["pods"][0]["node"] == "a"


def test_an_empty_list_beside_other_objects_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(EMPTY)

    result = simulate(
        tmp_path,
        str(tmp_path / "all.yaml"),
        str(tmp_path / "pods.json"),
        all_yaml=f"{NODE}---{POD}",
    )

    assert result.exit_code == 0, result.output
    assert "1 of 1 pods placed" in result.stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("a: [", "all.yaml", id="broken YAML"),
        pytest.param("- 1", "all.yaml, document 1: not an object but a list", id="no object"),
        pytest.param("# nothing", "all.yaml: empty: there is no object in it", id="a comment"),
        pytest.param(EMPTY, "all.yaml: empty: there is no object in it", id="nothing but no items"),
        pytest.param(
            NODE + "---" + POD.replace('cpu: "1"', "cpu: 1x"),
            'all.yaml, document 2: Pod in version "v1" cannot be handled as a Pod: '
            'spec.containers[0].resources.requests[cpu]: "1x": quantities must match',
            id="a wrong quantity",
        ),
        pytest.param(
            f"{POD}---{POD}",
            "document 2: Pod web is already in",
            id="a duplicate object",
        ),
        pytest.param("metadata: {name: x}", "document 1: kind: missing", id="no kind"),
        pytest.param(
            "{kind: Deployment, metadata: {name: x}}",
            "document 1: apiVersion: missing; that of a Deployment is apps/v1",
            id="no apiVersion",
        ),
        pytest.param(
            "{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: x}}",
            'document 1: no matches for kind "Deployment" in version "extensions/v1beta1": '
            "that of a Deployment is apps/v1",
            id="an apiVersion that has gone",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Pod, metadata: {name: x}}",
            'no matches for kind "Pod" in version "apps/v1": that of a Pod is v1',
            id="another kind's apiVersion",
        ),
        pytest.param(
            "{apiVersion: v1, kind: pod, metadata: {name: x}}",
            'no matches for kind "pod" in version "v1": it is spelt Pod; that of a Pod is v1',
            id="a kind in lower case",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, spec: {}}",
            "document 1: Pod: metadata.name: missing",
            id="no name",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, "
            "spec: {replicas: many, template: {spec: {}}}}",
            "into Go struct field DeploymentSpec.spec.replicas of type int32",
            id="replicas that are no number",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, "
            "spec: {replicas: 2147483647}}",
            "document 1: Deployment x: spec.replicas: 2147483647: too many: "
            "at most 2,000,000 pods of a workload are held in memory",
            id="more replicas than are held in memory",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {}}",
            "spec.template.spec.containers: Required value",
            id="a workload without a template",
        ),
    ],
)
def test_bad_input_is_one_clear_message_and_exit_code_2(
    tmp_path: Path, text: str, complaint: str
) -> None:
    result = simulate(tmp_path, str(tmp_path / "all.yaml"), all_yaml=text)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
    assert all(line.startswith("error: ") for line in result.stderr.splitlines())


def test_a_kind_that_scheduling_does_not_read_is_skipped_with_a_warning(tmp_path: Path) -> None:
    quota = "{apiVersion: v1, kind: Secret, metadata: {name: q}}"
    text = f"{NODE}---\n{quota}\n---{POD}"

    lenient = simulate(tmp_path, str(tmp_path), all_yaml=text)
    strict = simulate(tmp_path, str(tmp_path), "--strict", all_yaml=text)

    assert lenient.exit_code == 0
    assert "not read by scheduling, skipped: 1 Secret (v1)" in lenient.stderr
    assert strict.exit_code == 2
    assert strict.stdout == ""


def test_rules_of_prometheus_beside_manifests_are_skipped_with_a_warning(tmp_path: Path) -> None:
    text = f"{NODE}---\ngroups: [{{name: scheduler.rules, rules: []}}]\n---{POD}"

    lenient = simulate(tmp_path, str(tmp_path), all_yaml=text)
    strict = simulate(tmp_path, str(tmp_path), "--strict", all_yaml=text)

    assert lenient.exit_code == 0
    assert "1 of 1 pods placed" in lenient.stdout
    assert "skipped: 1 Prometheus rules (no apiVersion)" in lenient.stderr
    assert strict.exit_code == 2
    assert "document 2: Prometheus rules is not read by scheduling (--strict)" in strict.stderr


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = simulate(tmp_path, str(tmp_path / "nothing"))

    assert result.exit_code == 2
    assert "nothing: no such file or folder" in result.stderr


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        pytest.param("import nowhere_to_be_found", "line 1: ModuleNotFoundError", id="an import"),
        pytest.param("x = 1\ny = (", "line 2: SyntaxError", id="a syntax error"),
        pytest.param("\n\n1 / 0", "line 3: ZeroDivisionError", id="an exception"),
        pytest.param("x = 1", "defines no plugin", id="no plugin inside"),
    ],
)
def test_a_plugin_file_that_does_not_import_is_named_with_its_line(
    tmp_path: Path, code: str, complaint: str
) -> None:
    plugin = tmp_path / "rules.py"
    plugin.write_text(code)
    manifest = tmp_path / "all.yaml"
    manifest.write_text(NODE)

    result = CliRunner().invoke(main, ["simulate", str(manifest), "--plugin", str(plugin)])

    assert result.exit_code == 2
    assert complaint in result.stderr
    assert str(plugin) in result.stderr


def test_an_unknown_field_in_the_configuration_names_its_place(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerNam: x}]\n"
    )

    result = simulate(tmp_path, str(tmp_path), "--config", str(config), all_yaml=NODE)

    assert result.exit_code == 2
    assert "profiles[0]" in result.stderr
    assert "schedulerNam" in result.stderr


def test_a_plugin_by_module_and_class(tmp_path: Path) -> None:
    name = "moorage.plugins.image_locality:ImageLocality"

    good = simulate(tmp_path, str(tmp_path), "--plugin", name, all_yaml=NODE)
    bad = simulate(tmp_path, str(tmp_path), "--plugin", f"{name}s", all_yaml=NODE)

    assert good.exit_code == 0
    assert bad.exit_code == 2
    assert "has no plugin class ImageLocalitys" in bad.stderr


def test_victims_of_preemption_leave_and_the_preemptor_takes_their_place(tmp_path: Path) -> None:
    running = POD.replace("name: web", "name: low").replace("spec: {", "spec: {nodeName: a, ")
    low = running.replace('cpu: "1"', 'cpu: "4"')
    urgent = POD.replace("name: web", "name: urgent").replace("spec: {", "spec: {priority: 9, ")

    result = simulate(tmp_path, str(tmp_path), "-o", "json", all_yaml=f"{NODE}---{low}---{urgent}")

    assert [(p["name"], p["node"]) for p in json.loads(result.stdout)["pods"]] == [("urgent", "a")]


def test_policies_in_the_configuration_file_are_applied(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: SchedulingPolicies}]}}}]
---
apiVersion: scheduling.k8s.io/v1
kind: SchedulingPolicy
metadata: {name: default-policy}
spec:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: disk, operator: In, values: [ssd]}]
"""
    )

    result = simulate(
        tmp_path, str(tmp_path), "--config", str(config), "-o", "json", all_yaml=f"{NODE}---{POD}"
    )

    assert json.loads(result.stdout)["pods"][0]["node"] == ""
