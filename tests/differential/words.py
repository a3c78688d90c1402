"""The words of which clusters are made: usual ones, and ones that the API would refuse."""

from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
ARCH = "kubernetes.io/arch"

ZONES = ("z1", "z2", "z3")
NAMESPACES = ("default", "team-a", "team-b", "team-c")

APPS = ("web", "db", "cache", "batch", "ml")
TIERS = ("front", "back", "core")
POD_KEYS = ("app", "tier", "ver", "pod-template-hash", "example.com/owner")
NODE_KEYS = (HOSTNAME, ZONE, REGION, ARCH, "disk", "gen", "node-type", "example.com/rack")

NODE_VALUES = {
    ZONE: ZONES,
    REGION: ("r1", "r2"),
    ARCH: ("amd64", "arm64"),
    "disk": ("ssd", "hdd", "nvme"),
    "gen": tuple(str(n) for n in range(10)),
    "node-type": ("compute-optimized", "memory-optimized"),
    "example.com/rack": ("1", "2", "rack-3"),
}
POD_VALUES = {
    "app": APPS,
    "tier": TIERS,
    "ver": ("1", "2", "3"),
    "pod-template-hash": ("5d4f", "7c9b"),
    "example.com/owner": ("ana", "bo"),
}

ODD_KEYS = (
    "",
    "UPPER",
    "a b",
    "/x",
    "x/",
    "a/b/c",
    "ü",
    "k" * 63,
    "k" * 64,
    "example.com/" + "k" * 64,
)
ODD_VALUES = (
    "",
    "007",
    "-5",
    "+3",
    "9223372036854775807",
    "9223372036854775808",
    "1e3",
    "3.5",
    "v" * 63,
    "v" * 64,
    "ü",
    "a b",
    "-x",
    "UPPER",
    "true",
)
