# Container image and manifests; see docs/operations.md.
IMAGE ?= moorage:latest

.PHONY: image manifests kubectl

image:
	docker build -f deploy/Dockerfile -t $(IMAGE) .

manifests:
	@for overlay in base overlays/in-place-of-kube-scheduler overlays/several-schedulers overlays/monitoring overlays/extender overlays/shadow overlays/dashboard crds; do \
		kubectl kustomize deploy/$$overlay >/dev/null && echo "deploy/$$overlay: ok" || exit 1; done

kubectl:
	@tests/kube/build.sh kubectl
