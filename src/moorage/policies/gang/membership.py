"""Which group a pod names, in any of the three dialects."""

from typing import Final

from moorage.api.pod import Pod

LABEL: Final = "scheduling.x-k8s.io/pod-group"
OLDER_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"


def names(pod: Pod) -> tuple[str, ...]:
    """The groups that a pod names, each once: none for most pods, and more than one by mistake."""
    group, labels = pod.spec.scheduling_group, pod.metadata.labels
    if group is None and LABEL not in labels and OLDER_LABEL not in labels:
        return ()
    field = None if group is None else group.pod_group_name
    named = (field, labels.get(LABEL), labels.get(OLDER_LABEL))
    return tuple(dict.fromkeys(name for name in named if name))


def key_of(pod: Pod) -> str | None:
    """The group that a pod belongs to, as `namespace/name`; None without one, or with several."""
    found = names(pod)
    return f"{pod.namespace}/{found[0]}" if len(found) == 1 else None
