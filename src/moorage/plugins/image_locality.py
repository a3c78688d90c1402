"""ImageLocality: prefer nodes that hold the pod's images, weighed by how common they are."""

from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from moorage.api import int64
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.points import Score
from moorage.framework.verdicts import MAX_SCORE

_MB = 1024 * 1024
MIN_THRESHOLD = 23 * _MB
MAX_CONTAINER_THRESHOLD = 1000 * _MB


class ImageLocality(Score, frozen=True):
    depends = Depends.NODE
    scores_in_range = True

    def sign(self, cycle: Cycle) -> Hashable:
        return tuple(images_of(cycle.pod)), cycle.table.images.version

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        images = list(images_of(pod))
        held = [found for image in images if (found := cycle.table.images.column(image))]
        if not held:
            return
        ceiling = MAX_CONTAINER_THRESHOLD * len(images)
        out += _image_sizes(cycle, held)[nodes.rows]
        np.clip(out, MIN_THRESHOLD, ceiling, out=out)
        out -= MIN_THRESHOLD
        out *= MAX_SCORE
        out //= ceiling - MIN_THRESHOLD


def _image_sizes(cycle: Cycle, held: list[tuple[NDArray[np.intp], int]]) -> NDArray[np.int64]:
    """Sizes of the images a node holds, each scaled by the share of nodes that hold it.  (row)"""
    sums = np.zeros(cycle.table.rows, dtype=np.int64)
    for rows, size in held:
        sums[rows] += int64.of_float(size * (len(rows) / len(cycle.table)))
    return sums


def images_of(pod: Pod) -> Iterator[str]:
    """The normalized name of every image of the pod; repeated images are yielded again."""
    spec = pod.spec
    for container in (*spec.init_containers, *spec.containers):
        yield normalized_image_name(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
