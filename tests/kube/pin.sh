#!/usr/bin/env bash
# Pins a Go module of this repository to one Kubernetes release: pin.sh VERSION MODULE_DIR...
# Upstream's go.mod replaces its staging modules by folders; here each is replaced by its published version.
set -euo pipefail

version=$1
shift
staging="v0.${version#v1.}"
upstream=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
modules=$(sed -n 's|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p' "$upstream")

for dir in "$@"; do
	(
		cd "$dir"
		go mod edit -require="k8s.io/kubernetes@$version"
		for module in $modules; do
			go mod edit -replace="$module=$module@$staging"
		done
		go mod tidy
	)
done
