"""Pods of a gang that share a claim for devices are placed together."""

from pathlib import Path

from click.testing import CliRunner

from moorage.cli.main import main

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: p{}, namespace: default}}
spec:
  schedulingGroup: {{podGroupName: g}}
  resourceClaims: [{{name: c, resourceClaimName: c}}]
  containers: [{{name: main, image: app, resources: {{requests: {{cpu: "1"}}}}}}]
"""


def test_a_gang_shares_the_claim_that_is_allocated_for_it(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER + "".join(map(POD.format, range(3))))

    done = CliRunner().invoke(main, ["simulate", str(tmp_path)])

    assert "3 of 3 pods placed on 1 nodes" in done.output
