"""Passes over node columns written in C, and None in their place where they were not built.

    _kernels      the C extension `compiled`: fused passes over all nodes
    _gpu_kernels  the C extension `compiled_gpu`: what placements cost the GPUs of nodes
    _node_totals  the C extension `node_totals`: what nodes score for a class of pods, row by row

Law of the package: nothing but arrays and numbers, and imports nothing of Moorage. Whoever uses a
kernel keeps its numpy form beside it, for installations without a compiler; both give the same.
"""

from types import ModuleType

compiled: ModuleType | None
try:
    from moorage.kernels import _kernels as compiled
except ImportError:  # no compiler when the package was installed
    compiled = None

compiled_gpu: ModuleType | None
try:
    from moorage.kernels import _gpu_kernels as compiled_gpu
except ImportError:
    compiled_gpu = None

node_totals: ModuleType | None
try:
    from moorage.kernels import _node_totals as node_totals
except ImportError:
    node_totals = None
