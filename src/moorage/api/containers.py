"""Containers of pods: what each asks for, and what the kubelet granted."""

import msgspec

from moorage.api.meta import ApiStruct, ResourceList


class ResourceRequirements(ApiStruct):
    """Requests, which scheduling counts, and limits."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class ContainerPort(ApiStruct):
    """A port of a container and, where set, of its node."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerRestartRule(ApiStruct):
    """What is done when a container ends in a certain way."""

    action: str = ""


class VolumeMount(ApiStruct):
    """A volume's place in a container."""

    name: str = ""
    bind_mount_options: tuple[str, ...] = ()


class Container(ApiStruct):
    """A container; an init container that restarts always is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class ContainerStatus(ApiStruct):
    """What the kubelet allocated to a container, and what it made true."""

    name: str = ""
    restart_count: int = 0
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None
