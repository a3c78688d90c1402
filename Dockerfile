# Moorage as a container: `make image`, or docker build -t moorage .
# To add plugins of your own: FROM moorage, then pip install them as root; see docs/operations.md.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /src
RUN python -m venv --without-pip /opt/moorage
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip --python /opt/moorage/bin/python install --no-cache-dir --no-compile . \
 && find /opt/moorage -depth \( -name tests -o -name __pycache__ \) -type d -exec rm -rf {} + \
 && find /opt/moorage -name '*.pyi' -delete \
 && /opt/moorage/bin/python -m compileall -q /opt/moorage/lib

# ca-certificates, and with it openssl, is part of the slim image: certificates are made with it
# where none are given.
FROM python:${PYTHON}-slim
COPY --from=build /opt/moorage /opt/moorage
ENV PATH=/opt/moorage/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["moorage"]
CMD ["--help"]
