"""The one thing that pyproject.toml cannot say yet: an extension that may fail to build."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "moorage.kernels._kernels",
            sources=["src/moorage/kernels/_kernels.c"],
            extra_compile_args=[
                "-O3",
                "-g0",  # no folder names: the same source gives the same bytes
                "-ffp-contract=off",
                "-fwrapv",
                "-fno-math-errno",
                "-fno-trapping-math",
            ],
            optional=True,  # without a compiler the numpy forms of the same passes are used
        )
    ]
)
