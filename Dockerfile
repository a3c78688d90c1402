# Moorage as a container: `make image`, or docker build -t moorage .
# A release names both images by digest: `make release-image BUILDER=... BASE=...`; see docs/security.md.
# To add plugins of your own: FROM moorage, then pip install them as root; see docs/operations.md.
ARG BUILDER=python:3.11
ARG BASE=python:3.11-slim

# The builder has a compiler: the wheel holds the compiled kernels, and the build ends where it does not.
# Everything that is fetched is named, with its hash, in requirements/*.lock.
FROM ${BUILDER} AS build
ARG SOURCE_DATE_EPOCH=315532800
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv --without-pip /opt/moorage && python -m venv /opt/audit
COPY requirements requirements
RUN pip install --require-hashes -r requirements/build.lock
RUN pip --python /opt/moorage/bin/python install --no-compile --require-hashes -r requirements/run.lock
RUN /opt/audit/bin/pip install --require-hashes -r requirements/audit.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels .
RUN pip --python /opt/moorage/bin/python install --no-deps --no-compile /wheels/*.whl \
 && /opt/moorage/bin/python -c 'import moorage.kernels._kernels, moorage.kernels._node_totals' \
 && /opt/audit/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
      -o /opt/moorage/moorage.cdx.json /opt/moorage/bin/python \
 && find /opt/moorage -depth \( -name tests -o -name __pycache__ \) -type d -exec rm -rf {} + \
 && find /opt/moorage -name '*.pyi' -delete \
 && /opt/moorage/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/moorage/lib

# ca-certificates, and with it openssl, is part of the slim image: certificates are made with it
# where none are given.
FROM ${BASE}
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
