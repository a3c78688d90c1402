# Moorage as a container: `make image`, or docker build -t moorage .
# To add plugins of your own: FROM moorage, then pip install them as root; see docs/operations.md.
ARG PYTHON=3.11

# The builder has a compiler: the wheel holds the compiled kernels, and the build ends where it does not.
FROM python:${PYTHON}-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /src
RUN python -m venv --without-pip /opt/moorage
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
RUN pip --python /opt/moorage/bin/python install --no-cache-dir --no-compile /wheels/*.whl \
 && /opt/moorage/bin/python -c 'import moorage.kernels._kernels' \
 && find /opt/moorage -depth \( -name tests -o -name __pycache__ \) -type d -exec rm -rf {} + \
 && find /opt/moorage -name '*.pyi' -delete \
 && /opt/moorage/bin/python -m compileall -q /opt/moorage/lib

# ca-certificates, and with it openssl, is part of the slim image: certificates are made with it
# where none are given.
FROM python:${PYTHON}-slim
COPY --from=build /opt/moorage /opt/moorage
# A manifest written for kube-scheduler starts Moorage with the same flags.
RUN printf '#!/bin/sh\nexec moorage run "$@"\n' > /usr/local/bin/kube-scheduler \
 && chmod 755 /usr/local/bin/kube-scheduler
ENV PATH=/opt/moorage/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["moorage"]
CMD ["--help"]
