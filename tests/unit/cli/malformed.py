"""Inputs of every file type that somebody got wrong, drawn from a seed."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

Path = tuple[Any, ...]
WRONG: tuple[Any, ...] = (
    *(None, 0, -1, 1.5, True, "", "x", "a b\nc", "9" * 30, "-1Gi", "\u202e"),
    *([], {}, [None], [[]], {"x": None}, {"name": 3}, [{"name": None}], ["x", "x"]),
)

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: x}, annotations: {n: "1"}}
spec: {taints: [{key: k, value: v, effect: PreferNoSchedule}]}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}, ownerReferences: []}
spec:
  schedulerName: default-scheduler
  priority: 3
  nodeSelector: {zone: x}
  tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [x]}]}]
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 3, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}
  containers:
  - name: c
    image: i
    ports: [{containerPort: 80, hostPort: 80}]
    resources: {requests: {cpu: 1}, limits: {cpu: 2}}
  volumes: [{name: v, emptyDir: {}}]
status: {phase: Pending}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  replicas: 1
  serviceName: s
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec: {containers: [{name: c, image: i}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
      storageClassName: fast
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  parallelism: 1
  completions: 2
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: fast}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: x
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [x]}]}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: l}
spec: {limits: [{type: Container, default: {cpu: 1}, defaultRequest: {cpu: 1}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {pods: 10}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: p}
value: 10
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: policies}
data:
  a.yaml: |
    kind: SchedulingPolicy
    apiVersion: scheduling.k8s.io/v1
    metadata: {name: p}
    spec: {}
---
apiVersion: metrics.k8s.io/v1beta1
kind: NodeMetrics
metadata: {name: a}
usage: {cpu: 1, memory: 1Gi}
"""
GOOD = "---".join(MANIFESTS.split("---")[:3])
"""A node, a pod and a Deployment."""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 16
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
clientConnection: {qps: 50, burst: 100}
percentageOfNodesToScore: 0
podInitialBackoffSeconds: 1
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: LowCpuScheduler, weight: 2}], disabled: [{name: ImageLocality}]}
    score: {disabled: [{name: NodeAffinity}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 3}
---
apiVersion: moorage/v1
kind: MoorageConfiguration
pluginGuard: {deadline: 1s, failureThreshold: 3, plugins: [{name: X, deadline: 2s}]}
---
apiVersion: scheduling.k8s.io/v1
kind: SchedulingPolicy
metadata: {name: batch}
spec:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]
"""
SCENARIO = """
apiVersion: moorage/v1
kind: Scenario
metadata: {name: s}
question: Does it work?
cluster:
  nodes: [{name: n, count: 2, cpu: "4", memory: 8Gi, pricePerHour: 0.2, zones: [a, b]}]
arrivals:
  generators:
  - seconds: 600
    perHour: 60
    pods: [{name: p, weight: 3, cpu: 500m, memory: 1Gi, labels: {app: p}, runs: {meanSeconds: 60}}]
"""
WHAT_IF = """
apiVersion: moorage/v1
kind: WhatIf
scenarios:
- {name: one, drain: [a], scale: {deployment/d: 3}, addNodes: [{count: 1, like: a}]}
"""
SPACE = """
apiVersion: moorage/v1
kind: SearchSpace
parameters:
- {path: "profiles[0].plugins.multiPoint.enabled[LowCpuScheduler].weight", low: 1, high: 10}
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: one, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: a, user: {token: t}}]
contexts: [{name: here, context: {cluster: one, user: a}}]
"""
NODES_CSV = "name,cpu,memory,price_per_hour,count\nn,4,8Gi,0.2,2\n"
PODS_CSV = "name,arrival_s,duration_s,cpu,memory\na,0,60,1,1Gi\nb,5,60,2,1Gi\n"
PLUGIN = """
from moorage import Filter

class Mine(Filter, frozen=True):
    zones: list[str] = []

    def filter(self, cycle, pod, node):
        return None
"""
ARGS = "{zones: [a], more: 1}"


TUNE = "--objective cost --trials 1 --workers 1"


class Kind(NamedTuple):
    """A file type: a right one, the commands that read it, and how it is got wrong."""

    right: str
    commands: tuple[str, ...]
    is_yaml: bool = True


KINDS = {
    "manifests.yaml": Kind(
        MANIFESTS,
        (
            "simulate BAD",
            "simulate BAD --no-validate",
            "explain BAD web",
            "explain BAD web --as-is",
            "capacity BAD --pod GOOD",
            "capacity GOOD --pod BAD",
            "whatif BAD --drain a",
            "simulate GOOD --add-node 1=BAD",
        ),
    ),
    "config.yaml": Kind(
        CONFIGURATION,
        (
            "config check BAD",
            "simulate GOOD --config BAD",
            "explain GOOD web --config BAD",
            "whatif GOOD --to-config BAD",
            "compare --nodes NODES --pods PODS --config BAD --seeds 1 --workers 1",
        ),
    ),
    "scenario.yaml": Kind(
        SCENARIO,
        (
            "simulate BAD",
            "compare BAD --seeds 1 --workers 1",
            "tune BAD --space SPACE --objective cost --trials 1 --workers 1",
        ),
    ),
    "whatif.yaml": Kind(WHAT_IF, ("whatif GOOD -f BAD",)),
    "space.yaml": Kind(
        SPACE,
        (f"tune --nodes NODES --pods PODS --space BAD --config CONFIG {TUNE}",),
    ),
    "kubeconfig": Kind(KUBECONFIG, ("snapshot --kubeconfig BAD", "explain web --kubeconfig BAD")),
    "nodes.csv": Kind(NODES_CSV, ("simulate --nodes BAD --pods PODS",), is_yaml=False),
    "pods.csv": Kind(PODS_CSV, ("simulate --nodes NODES --pods BAD",), is_yaml=False),
    "plugin.py": Kind(PLUGIN, ("plugin check BAD", "simulate GOOD --plugin BAD"), is_yaml=False),
    "args.yaml": Kind(ARGS, ("plugin check MINE --args BAD",)),
}


class Malformed(NamedTuple):
    """A wrong file, and the command that is to read it."""

    name: str
    content: bytes
    command: str


def draw(count: int, seed: int) -> Iterator[Malformed]:
    """So many, every file type and command in turn."""
    dice = random.Random(seed)
    turns = [(name, command) for name, kind in KINDS.items() for command in kind.commands]
    for number in range(count):
        name, command = turns[number % len(turns)]
        yield Malformed(name, _spoilt(KINDS[name], dice), command)


def _spoilt(kind: Kind, dice: random.Random) -> bytes:
    if kind.is_yaml and dice.random() < 0.85:
        return _spoilt_values(kind.right, dice)
    return dice.choice(_TEXTUAL)(kind.right.encode(), dice)


def _spoilt_values(text: str, dice: random.Random) -> bytes:
    documents = list(yaml.safe_load_all(text))
    for _ in range(dice.choice((1, 1, 2))):
        path = dice.choice(list(_paths(documents)))
        _spoil(documents, path, dice)
    written = yaml.safe_dump_all(documents, allow_unicode=True)
    return written.encode()


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    if at:
        yield at
    items: Any = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from _paths(inner, (*at, key))


def _spoil(documents: list[Any], path: Path, dice: random.Random) -> None:
    holder: Any = documents
    for key in path[:-1]:
        holder = holder[key]
    what = dice.random()
    if what < 0.75:
        holder[path[-1]] = copy.deepcopy(dice.choice(WRONG))
    elif what < 0.85 and isinstance(holder, dict):
        holder[dice.choice(("x", "Name", 7, None, "metdata"))] = holder.pop(path[-1])
    elif isinstance(holder, dict):
        del holder[path[-1]]
    else:
        holder.append(copy.deepcopy(holder[path[-1]]))


def _cut(text: bytes, dice: random.Random) -> bytes:
    return text[: dice.randrange(len(text))]


def _with(piece: bytes) -> Callable[[bytes, random.Random], bytes]:
    def put(text: bytes, dice: random.Random) -> bytes:
        at = dice.randrange(len(text))
        return text[:at] + piece + text[at:]

    return put


_TEXTUAL: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    *map(_with, (b"\x00", b"\xff\xfe\xfa", b"\t", b"{{ .Values.x }}", b"]", b"\n- ", b"&a *b ")),
    *map(_with, (b"!!python/object:os.system ", b"\r", b'"', b",,,", b"raise ", b"\n---\n")),
    lambda text, dice: b"\xef\xbb\xbf" + text,
    lambda text, dice: text.replace(b"\n", b"\r\n"),
    lambda text, dice: text.decode().encode("utf-16"),
    lambda text, dice: b"",
    lambda text, dice: b"\x1f\x8b\x08" + text,
)
