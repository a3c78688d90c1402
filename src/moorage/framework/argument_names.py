"""How Python's names of arguments are written in YAML: camelCase, acronyms as Kubernetes has them.

`enable_gpu_scheduling` is written `enableGPUScheduling`. The plain `enableGpuScheduling` is read as
the same (`config/strict_decoder.py`).
"""

from typing import Final

_PLURALS: Final = ("cpu", "gpu", "id", "ip", "pvc", "url", "vm")
# fmt: off
_ACRONYMS: Final = (
    "acl", "api", "ca", "cidr", "cpu", "crd", "csi", "dns", "dra", "fqdn", "gpu", "http", "https",
    "id", "io", "ip", "json", "mig", "numa", "nvme", "os", "pci", "pv", "pvc", "rdma", "slo",
    "ssd", "tcp", "tls", "tpu", "ttl", "udp", "uid", "uri", "url", "uuid", "vm", "yaml",
)
# fmt: on
_WRITTEN: Final = {
    **{word: word.upper() for word in _ACRONYMS},
    **{f"{word}s": f"{word.upper()}s" for word in _PLURALS},
    "qos": "QoS",
}


def yaml_name(field: str) -> str:
    """The name of a field in YAML; the first word is always in lower case."""
    first, *rest = field.split("_")
    return first + "".join(_WRITTEN.get(word, word[:1].upper() + word[1:]) for word in rest)
