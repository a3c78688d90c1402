"""Passes over node columns written in C, and `compiled`, which is None where they were not built.

    _kernels    the C extension: fused passes over all nodes

Law of the package: nothing but arrays and numbers, and imports nothing of Moorage. Whoever uses a
kernel keeps its numpy form beside it, for installations without a compiler; both give the same.
"""

from types import ModuleType

compiled: ModuleType | None
try:
    from moorage.kernels import _kernels as compiled
except ImportError:  # no compiler when the package was installed
    compiled = None
