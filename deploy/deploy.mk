# Container image and manifests; see docs/operations.md.
IMAGE   ?= moorage:latest
BUILDER ?= python:3.11
BASE    ?= python:3.11-slim

.PHONY: image manifests release-image pin-base

image:
	docker build -f deploy/Dockerfile -t $(IMAGE) .

manifests:
	@for overlay in base overlays/in-place-of-kube-scheduler overlays/several-schedulers overlays/monitoring overlays/extender overlays/shadow overlays/dashboard crds; do \
		kubectl kustomize deploy/$$overlay >/dev/null && echo "deploy/$$overlay: ok" || exit 1; done

# A tag may mean something else tomorrow: what is released stands on digests.
release-image:
	@for image in '$(BUILDER)' '$(BASE)'; do echo "$$image" | grep -Eq '@sha256:[0-9a-f]{64}$$' || { \
	    echo "release-image: $$image names no digest: give BUILDER= and BASE= as image@sha256:..., which" \
	         "docker buildx imagetools inspect $$image --format '{{.Manifest.Digest}}' tells" >&2; exit 2; }; done
	docker build --build-arg BUILDER=$(BUILDER) --build-arg BASE=$(BASE) --build-arg SOURCE_DATE_EPOCH=$(EPOCH) -f deploy/Dockerfile -t $(IMAGE) .

# Writes the digests that the two tags mean today into deploy/Dockerfile; it needs a network.
pin-base:
	@for image in python:3.11 python:3.11-slim; do \
	    digest=$$(docker buildx imagetools inspect $$image --format '{{.Manifest.Digest}}') && \
	    echo "$$digest" | grep -Eq '^sha256:[0-9a-f]{64}$$' || { echo "pin-base: no digest of $$image" >&2; exit 2; }; \
	    sed -i -E "s#^(ARG (BUILDER|BASE)=$$image)(@sha256:[0-9a-f]{64})?\$$#\1@$$digest#" deploy/Dockerfile || exit 2; done
	@grep -E '^ARG (BUILDER|BASE)=' deploy/Dockerfile
