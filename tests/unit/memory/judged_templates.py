"""Pod templates as applications write them: claim templates, volumes of every source, mounts."""

from typing import Any

from tests.unit.memory.object_recipes import (
    CONTAINER,
    LABELS,
    Judged,
    Raw,
    claim,
    container,
    named,
    of_kind,
    pod,
    spread,
    tolerating,
    volume,
    workload,
)

SOURCES: list[Raw] = [
    {},
    {"emptyDir": {}},
    {"emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
    {"hostPath": {"path": "/run", "type": "Directory"}},
    {"configMap": {"name": "settings", "items": [{"key": "a", "path": "a.yaml"}]}},
    {"secret": {"secretName": "keys", "optional": True, "defaultMode": 256}},
    {"persistentVolumeClaim": {"claimName": "web-0", "readOnly": True}},
    {"ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}},
    {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"projected": {"sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "k"}}]}},
    {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    {"csi": {"driver": "csi.example.com"}},
    {"nfs": {"server": "files", "path": "/"}},
    {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:disk", "lun": 0}},
    {"fc": {"targetWWNs": ["500a0982991b8dc5"], "lun": 2}},
    {"image": {"reference": "registry.example.com/data:1"}},
]
MOUNTED = {**CONTAINER, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
BLOCK = {**CONTAINER, "volumeDevices": [{"name": "data", "devicePath": "/dev/data"}]}


def template(**spec: Any) -> Raw:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER], **spec}}


def claims(*names: str, **spec: Any) -> list[Raw]:
    return [{"metadata": {"name": name}, "spec": {**claim()["spec"], **spec}} for name in names]


def stateful(*templates: Raw, without: str = "", **spec: Any) -> Raw:
    """A StatefulSet whose container mounts the volume `data`."""
    spec = {
        "template": template(containers=[MOUNTED]),
        "volumeClaimTemplates": [*templates],
        **spec,
    }
    return workload("StatefulSet", "apps/v1", without=without, **spec)


def job(**spec: Any) -> Raw:
    return workload("Job", "batch/v1", **spec)


def labelled_job(**spec: Any) -> Raw:
    labelled = template(restartPolicy="Never")
    return job(template=labelled, **spec)


CLAIMED = [
    Judged("a StatefulSet that mounts its claim template", stateful(*claims("data"))),
    Judged(
        "a StatefulSet with an init container that mounts a claim template",
        stateful(*claims("data"), template=template(initContainers=[{**MOUNTED, "name": "init"}])),
    ),
    Judged(
        "a StatefulSet that uses its claim template as a block device",
        stateful(*claims("data", volumeMode="Block"), template=template(containers=[BLOCK])),
    ),
    Judged(
        "a claim template in place of a volume of the same name",
        stateful(
            *claims("data"),
            template=template(
                containers=[MOUNTED], volumes=[{"name": "data", "emptyDir": {}, "nfs": {}}]
            ),
        ),
    ),
    Judged(
        "a StatefulSet that mounts two claim templates and a volume",
        stateful(
            *claims("data", "log"),
            template=template(
                containers=[
                    {
                        **CONTAINER,
                        "volumeMounts": [
                            {"name": name, "mountPath": f"/{name}"}
                            for name in ("data", "log", "tmp")
                        ],
                    }
                ],
                volumes=[{"name": "tmp", "emptyDir": {}}],
            ),
        ),
    ),
    Judged(
        "a StatefulSet that mounts what no template makes",
        stateful(*claims("log")),
        ("spec.template.spec.containers[0].volumeMounts[0].name", 'Not found: "data"'),
    ),
    Judged(
        "a StatefulSet that mounts nothing it has",
        stateful(),
        ("spec.template.spec.containers[0].volumeMounts[0].name", 'Not found: "data"'),
    ),
    Judged(
        "a Deployment that mounts what it does not have",
        workload("Deployment", template=template(containers=[MOUNTED])),
        ("spec.template.spec.containers[0].volumeMounts[0].name", 'Not found: "data"'),
    ),
    Judged(
        "a claim template of no size",
        stateful(*claims("data", resources={})),
        ("spec.volumeClaimTemplates[0].spec.resources[storage]",),
    ),
    Judged(
        "a claim template without an access mode",
        stateful(*claims("data", accessModes=[])),
        ("spec.volumeClaimTemplates[0].spec.accessModes",),
    ),
    Judged(
        "a claim template with a bad name",
        stateful(*claims("data", "Log")),
        ("spec.template.spec.volumes[", 'Invalid value: "Log"'),
    ),
    Judged(
        "a claim for one pod and for more",
        claim(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]),
        ("spec.accessModes", "may not use ReadWriteOncePod with other access modes"),
    ),
    Judged("a claim for one pod", claim(accessModes=["ReadWriteOncePod"])),
]
STATEFUL = [
    Judged("a StatefulSet without a service", stateful(*claims("data"), without="serviceName")),
    Judged(
        "a StatefulSet with all that may be chosen",
        stateful(
            *claims("data"),
            podManagementPolicy="Parallel",
            updateStrategy={"type": "OnDelete"},
            persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"},
            ordinals={"start": 5},
            minReadySeconds=3,
            revisionHistoryLimit=2,
        ),
    ),
    Judged(
        "a service with a dot", stateful(*claims("data"), serviceName="a.b"), ("spec.serviceName",)
    ),
    Judged(
        "an unknown order of pods",
        stateful(*claims("data"), podManagementPolicy="Random"),
        ("spec.podManagementPolicy", "must be 'OrderedReady' or 'Parallel'"),
    ),
    Judged(
        "an unknown fate of claims",
        stateful(*claims("data"), persistentVolumeClaimRetentionPolicy={"whenScaled": "Sell"}),
        ("spec.persistentVolumeClaimRetentionPolicy.whenScaled", '"Retain", "Delete"'),
    ),
    Judged(
        "ordinals from below zero",
        stateful(*claims("data"), ordinals={"start": -1}),
        ("spec.ordinals.start",),
    ),
    *(
        Judged(
            f"{kind}: pods with a deadline",
            workload(kind, template=template(activeDeadlineSeconds=5)),
            ("spec.template.spec.activeDeadlineSeconds", "is not Supported"),
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    ),
]
JOBS = [
    Judged(
        "a Job whose name is no label",
        named("a" * 64, job()),
        ("spec.template.labels", "63"),
    ),
    Judged(
        "a Job with a bad name",
        named("item-$ITEM", job()),
        ("metadata.name", "metadata.labels", "spec.template.labels"),
    ),
    Judged(
        "a Job with a selector of its own", job(selector={"matchLabels": LABELS}), ("selector",)
    ),
    Judged(
        "a Job that selects its pods by hand",
        labelled_job(manualSelector=True, selector={"matchLabels": LABELS}),
    ),
    Judged(
        "a Job that selects other pods by hand",
        labelled_job(manualSelector=True, selector={"matchLabels": {"app": "other"}}),
        ("spec.template.metadata.labels",),
    ),
    Judged(
        "a Job that selects by hand, but nothing",
        labelled_job(manualSelector=True),
        ("spec.selector",),
    ),
    Judged(
        "a Job with all volumes",
        job(
            template=template(
                restartPolicy="OnFailure",
                volumes=[{"name": f"v{index}", **source} for index, source in enumerate(SOURCES)],
            )
        ),
    ),
]
VOLUMES = [
    *(
        Judged(
            f"a pod with a volume: {'/'.join(source) or 'no source'} {index}",
            pod(
                containers=[MOUNTED],
                volumes=[{"name": "data", **source}],
                serviceAccountName="web",
            ),
        )
        for index, source in enumerate(SOURCES)
    ),
    Judged(
        "a mount without a path",
        pod(
            containers=[{**CONTAINER, "volumeMounts": [{"name": "data"}]}],
            volumes=[{"name": "data"}],
        ),
        ("spec.containers[0].volumeMounts[0].mountPath",),
    ),
    Judged(
        "two volumes at one path",
        pod(
            containers=[
                {
                    **CONTAINER,
                    "volumeMounts": [{"name": name, "mountPath": "/x"} for name in ("a", "b")],
                }
            ],
            volumes=[{"name": "a"}, {"name": "b"}],
        ),
        ("spec.containers[0].volumeMounts[1].mountPath", "must be unique"),
    ),
    Judged(
        "a mount without a name",
        container(volumeMounts=[{"mountPath": "/x"}]),
        ("spec.containers[0].volumeMounts[0].name", "Required value", 'Not found: ""'),
    ),
    Judged(
        "a device that is no volume",
        pod(containers=[BLOCK]),
        ("spec.containers[0].volumeDevices[0].name", 'Not found: "data"'),
    ),
    Judged(
        "text in place of a volume's number",
        pod(volumes=[{"name": "data", "fc": {"lun": "2"}}]),
        ("FCVolumeSource.spec.volumes.VolumeSource.fc.lun",),
    ),
    Judged(
        "text in place of a volume's source",
        pod(volumes=[{"name": "data", "emptyDir": "yes"}]),
        ("Volume.spec.volumes.VolumeSource.emptyDir",),
    ),
    Judged(
        "a number in place of a volume's name",
        pod(volumes=[{"name": 5}]),
        ("Volume.spec.volumes.name",),
    ),
    Judged(
        "text in place of a probe's number",
        container(livenessProbe={"httpGet": {"port": 80}, "periodSeconds": "5"}),
        ("Probe.spec.containers.livenessProbe.periodSeconds",),
    ),
    Judged(
        "a number in place of a probe's path",
        container(livenessProbe={"httpGet": {"port": 80, "path": 5}}),
        ("HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.path",),
    ),
    Judged(
        "a number in place of the path of a volume",
        volume(hostPath={"path": 5}),
        ("HostPathVolumeSource.spec.PersistentVolumeSource.hostPath.path",),
    ),
    Judged(
        "text in place of a volume's modes",
        volume(accessModes="ReadWriteOnce"),
        ("PersistentVolumeSpec.spec.accessModes",),
    ),
]
DEBUG = {**CONTAINER, "name": "debug"}
PARTS = [
    Judged("a variable", container(env=[{"name": "A", "value": "b"}])),
    Judged(
        "a variable without a name",
        container(env=[{"value": "b"}]),
        ("spec.containers[0].env[0].name",),
    ),
    Judged(
        "a container for debugging",
        pod(ephemeralContainers=[DEBUG]),
        ("spec.ephemeralContainers", "cannot be set on create"),
    ),
    Judged(
        "a template with a container for debugging",
        workload("Deployment", template=template(ephemeralContainers=[DEBUG])),
        ("spec.template.spec.ephemeralContainers", "not allowed in pod template"),
    ),
    Judged(
        "containers and init containers without images",
        pod(containers=[{"name": "c"}], initContainers=[{"name": "i"}]),
        ("[spec.containers[0].image: Required value, spec.initContainers[0].image",),
    ),
    Judged(
        "a container and an init container of one name",
        pod(initContainers=[CONTAINER]),
        ("spec.initContainers[0].name",),
    ),
    Judged(
        "a comparison that is off by default",
        tolerating(key="a", operator="Gt", value="5"),
        ('supported values: "Equal", "Exists", "Lt", "Gt"',),
    ),
    Judged("a topology key that no label can have", spread(topologyKey="80%")),
    Judged(
        "a bad name and no containers",
        named("A", workload("Deployment", template={"metadata": {"labels": LABELS}, "spec": {}})),
        ("metadata.name", "spec.template.spec.containers"),
    ),
    Judged(
        "an owner without an identity",
        of_kind(
            "ReplicaSet",
            "apps/v1",
            spec=workload("ReplicaSet")["spec"],
        )
        | {
            "metadata": {
                "name": "judged",
                "namespace": "default",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}],
            }
        },
        ("metadata.ownerReferences[0].uid", "must not be empty"),
    ),
]
ABSENT: dict[str, Any] = {
    "labels": None,
    "annotations": {"a": None},
    "ownerReferences": None,
    "generateName": None,
}
"""What templates leave behind that render to nothing."""
NULLS = [
    Judged(
        f"{raw['kind']}: metadata of nothing", {**raw, "metadata": {**raw["metadata"], **ABSENT}}
    )
    for raw in (
        pod(),
        claim(),
        volume(),
        workload("Deployment"),
        workload("StatefulSet"),
        workload("DaemonSet"),
        workload("Job", "batch/v1"),
    )
]
TEMPLATES = [*NULLS, *CLAIMED, *STATEFUL, *JOBS, *VOLUMES, *PARTS]
