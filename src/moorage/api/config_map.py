"""ConfigMaps: texts by key, which configuration and policies are read from."""

import msgspec

from moorage.api.meta import KubeObject


class ConfigMap(KubeObject):
    """Some texts with a name."""

    data: dict[str, str] = msgspec.field(default_factory=dict)
