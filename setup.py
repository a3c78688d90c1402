"""The one thing that pyproject.toml cannot say yet: extensions that may fail to build."""

from setuptools import Extension, setup

FLAGS = [
    "-O3",
    "-g0",  # no folder names: the same source gives the same bytes
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
]

setup(
    ext_modules=[
        Extension(
            f"moorage.kernels.{name}",
            sources=[f"src/moorage/kernels/{name}.c"],
            extra_compile_args=FLAGS,
            optional=True,  # without a compiler the numpy forms of the same passes are used
        )
        for name in ("_kernels", "_gpu_kernels", "_node_totals")
    ]
)
