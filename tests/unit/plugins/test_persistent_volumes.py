"""What claims and volumes say of themselves."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.volumes import persistent_volumes
from moorage.testing import pod

BETA_CLASS = {"volume.beta.kubernetes.io/storage-class": "old"}
WEB = pod("web").with_spec(volumes=[{"name": "data", "ephemeral": {}}]).build()


def claim(spec: dict[str, Any] | None = None, **meta: Any) -> PersistentVolumeClaim:
    metadata = {"name": "data", "namespace": "default", "uid": "c1", **meta}
    return decode_as({"metadata": metadata, "spec": spec or {}}, PersistentVolumeClaim)


def volume(spec: dict[str, Any], **meta: Any) -> PersistentVolume:
    return decode_as({"metadata": {"name": "pv", **meta}, "spec": spec}, PersistentVolume)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(claim(), "", id="a claim that names no class has none"),
        pytest.param(claim({"storageClassName": "new"}), "new", id="the spec names the class"),
        pytest.param(
            claim({"storageClassName": "new"}, annotations=BETA_CLASS),
            "old",
            id="the beta annotation goes before the spec",
        ),
    ],
)
def test_class_of_a_claim(found: PersistentVolumeClaim, want: str) -> None:
    assert persistent_volumes.claim_class(found) == want


def test_class_of_a_volume_is_the_annotation_before_the_spec() -> None:
    annotated = volume({"storageClassName": "new"}, annotations=BETA_CLASS)

    assert persistent_volumes.volume_class(annotated) == "old"
    assert persistent_volumes.volume_class(volume({"storageClassName": "new"})) == "new"


def owners(uid: str, controller: bool = True) -> list[dict[str, Any]]:
    return [{"kind": "Pod", "name": "web", "uid": uid, "controller": controller}]


@pytest.mark.parametrize(
    ("found", "is_foreign"),
    [
        pytest.param(claim(ownerReferences=owners(WEB.uid)), False, id="the pod controls it"),
        pytest.param(claim(ownerReferences=owners("other")), True, id="another pod controls it"),
        pytest.param(
            claim(ownerReferences=owners(WEB.uid, controller=False)),
            True,
            id="an owner that is not the controller does not count",
        ),
        pytest.param(claim(), True, id="nobody owns it"),
    ],
)
def test_an_ephemeral_claim_is_the_pods_own(found: PersistentVolumeClaim, is_foreign: bool) -> None:
    text = "PVC default/data was not created for pod default/web (pod is not owner)"

    assert persistent_volumes.not_created_for(WEB, found) == (text if is_foreign else None)


def test_an_ephemeral_volume_names_its_claim_after_pod_and_volume() -> None:
    (ephemeral,) = WEB.spec.volumes

    assert persistent_volumes.claim_name(WEB, ephemeral) == "web-data"


@pytest.mark.parametrize(
    ("ref", "want"),
    [
        pytest.param(None, False, id="a free volume is kept for nobody"),
        pytest.param({"namespace": "default", "name": "data"}, True, id="kept by name alone"),
        pytest.param(
            {"namespace": "default", "name": "data", "uid": "c1"}, True, id="kept by name and uid"
        ),
        pytest.param(
            {"namespace": "default", "name": "data", "uid": "c0"},
            False,
            id="kept for an earlier claim of that name",
        ),
        pytest.param({"namespace": "other", "name": "data"}, False, id="another namespace"),
    ],
)
def test_whom_a_volume_is_kept_for(ref: dict[str, str] | None, want: bool) -> None:
    kept = volume({"claimRef": ref} if ref else {})

    assert persistent_volumes.is_kept_for(kept, claim()) is want


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(claim(), False, id="without a volume it is not"),
        pytest.param(
            claim({"volumeName": "pv"}),
            False,
            id="with a volume only, the other side may not agree",
        ),
        pytest.param(
            claim({"volumeName": "pv"}, annotations={persistent_volumes.BIND_COMPLETED: "yes"}),
            True,
            id="with a volume and the controller's word it is",
        ),
    ],
)
def test_whether_a_claim_is_bound(found: PersistentVolumeClaim, want: bool) -> None:
    assert persistent_volumes.is_bound(found) is want


def test_a_pod_names_only_claims_of_its_namespace() -> None:
    mine: Pod = (
        pod("web").with_spec(volumes=[{"persistentVolumeClaim": {"claimName": "data"}}]).build()
    )

    assert persistent_volumes.names_claim(mine, claim())
    assert not persistent_volumes.names_claim(mine, claim(namespace="other"))
    assert not persistent_volumes.names_claim(mine, claim(name="logs"))
