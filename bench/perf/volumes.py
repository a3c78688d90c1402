"""A claim and a volume that are bound to each other, as upstream makes them for a pod."""

from bench.perf.client import Raw


def volume_objects(namespace: str, number: int, claim: Raw, volume: Raw) -> tuple[Raw, Raw]:
    """The claim and the volume of the pod with this number, from their templates."""
    claim_name, volume_name = f"pvc-{number}", f"{namespace}-pv-{number}"
    claim["metadata"] = {**(claim.get("metadata") or {}), "name": claim_name}
    claim["metadata"]["namespace"] = namespace
    claim["spec"]["volumeName"] = volume_name
    claim["status"] = {"phase": "Bound"}
    volume["metadata"] = {**(volume.get("metadata") or {}), "name": volume_name}
    if "csi" in volume["spec"]:
        volume["spec"]["csi"]["volumeHandle"] = volume_name
    reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim_name}
    volume["spec"]["claimRef"] = {**reference, "apiVersion": "v1"}
    volume["status"] = {"phase": "Bound"}
    return claim, volume
