#!/usr/bin/env bash
# Pins Go modules of this repository to one Kubernetes release, and tests/kube/etcd to the etcd that kubeadm of that
# release starts: pin.sh VERSION MODULE_DIR...
# Upstream's go.mod replaces its staging modules by folders; here each is replaced by its published version.
set -euo pipefail

version=$1
shift
staging="v0.${version#v1.}"
upstream=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
sources=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
etcd=$(sed -n 's/^\tDefaultEtcdVersion = "\(.*\)-[0-9]*"$/\1/p' "$sources/cmd/kubeadm/app/constants/constants.go")
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

cd "$(dirname "$0")/etcd"
go mod edit -require="go.etcd.io/etcd/server/v3@v$etcd"
go mod tidy
