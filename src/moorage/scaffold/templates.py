"""The texts of a new plugin, with placeholders for its names."""

PLUGIN = '''"""{cls}: say here, in a sentence, what the rule is."""

from moorage import {imports}

REFUSED = "node(s) didn't have the value of {label} that the pod asks for"


class {cls}({bases}):
    """Fields are arguments: in the configuration they are written in camelCase, and checked."""

    label: str = "{label}"
    preferred: str = "yes"
{hooks}'''

FILTER_TEST = """

def test_a_pod_that_asks_for_a_value_goes_where_it_is() -> None:
    assert CLUSTER.place(pod("picky").labelled({{"{label}": "no"}})) == "plain"


def test_a_pod_that_no_node_will_do_for_is_told_why() -> None:
    lost = pod("lost").labelled({{"{label}": "elsewhere"}})

    assert REFUSED in CLUSTER.why_not(lost)
"""

SCORE_TEST = """

def test_nodes_with_the_preferred_value_score_highest() -> None:
    assert CLUSTER.scores(pod("web"), "{cls}") == {{"special": 100, "plain": 0}}
"""

TEST = '''"""The rule of {cls}, on a cluster of two nodes; the engine is the real one."""

from moorage.testing import Cluster, node, pod

from {module} import {tested}

CLUSTER = Cluster(
    node("special").labelled({{"{label}": "yes"}}),
    node("plain").labelled({{"{label}": "no"}}),
    plugins=[{cls}()],
)


def test_a_pod_that_asks_for_nothing_is_placed() -> None:
    assert CLUSTER.place(pod("web").requesting(cpu="500m")) in ("special", "plain")
{more}'''

CONFIG = """\
# What kube-scheduler reads, with the plugin in it.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: {package}
  plugins:
    multiPoint:
      enabled:
      - name: {cls}{disabled}
  pluginConfig:
  - name: {cls}
    args:
      label: {label}
      preferred: "yes"
---
# What Moorage alone reads: how long the plugin may take, and what happens when it fails.
apiVersion: moorage/v1
kind: MoorageConfiguration
pluginGuard:
  plugins:
  - name: {cls}
    deadline: 100ms
    whenOpen: Ignore
"""

DISABLED = """
      disabled:
      - name: PrioritySort"""

EXAMPLE = """\
# A cluster and a pod to try the plugin on.
apiVersion: v1
kind: Node
metadata:
  name: special
  labels: {{"{label}": "yes"}}
status:
  allocatable: {{cpu: "4", memory: 16Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata:
  name: plain
  labels: {{"{label}": "no"}}
status:
  allocatable: {{cpu: "4", memory: 16Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  schedulerName: {package}
  containers:
  - name: web
    image: example.com/web:1
    resources:
      requests: {{cpu: 500m}}
"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{package}"
version = "0.1.0"
description = "A scheduling rule for Moorage"
requires-python = ">=3.11"
dependencies = ["moorage"]

[project.entry-points."moorage.plugins"]
{cls} = "{module}:{cls}"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
pythonpath = ["src"]
"""

PYTEST_INI = """\
# The test finds the plugin beside it, whatever a project around this folder says of pytest.
[pytest]
pythonpath = .
"""
