"""Leaves out of a recording what may hold a secret.

Objects are decoded into the fields that scheduling reads, so environment variables, commands and
the data of Secrets are never present. What must be removed here is the annotation of
`kubectl apply`, which repeats a whole manifest, and the data of ConfigMaps.
"""

from typing import Final, TypeVar

import msgspec

from moorage.api.meta import KubeObject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
LEFT_OUT: Final = frozenset({"ConfigMap", "Secret"})
"""Kinds that are never recorded."""

K = TypeVar("K", bound=KubeObject)


def without_secrets(obj: K) -> K:
    """The object without secrets, as it may be written."""
    annotations = obj.metadata.annotations
    if LAST_APPLIED not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    metadata = msgspec.structs.replace(obj.metadata, annotations=kept)
    return msgspec.structs.replace(obj, metadata=metadata)
