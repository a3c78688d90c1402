#!/usr/bin/env bash
# Puts what Moorage is tested against in .kube-assets/bin: build.sh kube | etcd | oracle | bench-peer | kubectl | e2e
#   kube        etcd, kube-apiserver, kube-scheduler, the oracle, and kubectl where none is installed; nothing where
#               KUBEBUILDER_ASSETS holds the first three
#   etcd        etcd alone
#   oracle      kube-scheduler's decisions on conformance cases
#   bench-peer  kube-scheduler's throughput in process
#   kubectl     to check manifests with, where none is installed
#   e2e         kube-controller-manager, a fake kubelet, and Kubernetes' end-to-end specs about scheduling, volumes and nodes
# The release is the one go.mod requires. Where it cannot be had, that is one line and not a failure, unless
# REQUIRE_KUBE=1.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/.kube-assets/bin
version=$(sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\)$|\1|p' "$root/tests/kube/go.mod")
stamp=$bin/.version
programs=(k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-scheduler)

unavailable() {
	echo "make $target: not built: $1"
	[[ ${REQUIRE_KUBE:-} != 1 ]] || exit 1
	exit 0
}

holds() {
	local dir=$1 name
	shift
	for name in "$@"; do [[ -x $dir/$name ]] || return 1; done
}

# need_sources PACKAGE...: Go is there and the module proxy has everything these packages are made of.
need_sources() {
	command -v go >/dev/null || unavailable "Go is not installed"
	local said
	said=$(go list -deps "$@" 2>&1 >/dev/null) || unavailable "$(tail -n 1 <<<"$said")"
}

# build OUTPUT PACKAGE..., or the binary of one package's tests with how="test -c"
build() {
	local output=$1 stamps="-s -w" package
	shift
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		stamps+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
	done
	mkdir -p "$bin"
	# shellcheck disable=SC2086  # several words
	CGO_ENABLED=0 nice go ${how:-build} -p 2 -trimpath -ldflags "$stamps" -o "$output" "$@"
}

# etcd: made anew where another version is there than go.mod requires, which is the one that kubeadm of the release names.
etcd() {
	local wanted
	wanted=$(sed -n 's|^require go.etcd.io/etcd/server/v3 v||p' "$root/tests/kube/etcd/go.mod")
	if holds "$bin" etcd && [[ $("$bin/etcd" --version 2>&1) == "etcd Version: $wanted"$'\n'* ]]; then
		return
	fi
	cd "$root/tests/kube/etcd"
	need_sources go.etcd.io/etcd/server/v3
	echo "building etcd $wanted: about a minute on two cores"
	build "$bin/etcd" go.etcd.io/etcd/server/v3
}

kube() {
	if [[ -n ${KUBEBUILDER_ASSETS:-} ]] && holds "$KUBEBUILDER_ASSETS" etcd kube-apiserver kube-scheduler; then
		return
	fi
	etcd
	if ! holds "$bin" kube-apiserver kube-scheduler || [[ $(cat "$stamp" 2>/dev/null) != "$version" ]]; then
		cd "$root/tests/kube"
		need_sources "${programs[@]}"
		echo "building kube-apiserver and kube-scheduler $version: about ten minutes on two cores"
		build "$bin/" "${programs[@]}"
		echo "$version" >"$stamp"
	fi
	oracle
	type -P kubectl >/dev/null || kubectl
}

# program NAME DIR PACKAGE: Go itself knows whether there is anything to do; without Go, what is there will do.
program() {
	if ! command -v go >/dev/null && holds "$bin" "$1"; then
		return
	fi
	cd "$root/$2"
	need_sources "$3"
	build "$bin/$1" "$3"
}

oracle() { program oracle tests/kube ./oracle; }
bench-peer() { program bench-peer bench/peer .; }
kubectl() { program kubectl tests/kube k8s.io/kubernetes/cmd/kubectl; }

# e2e: made anew where the release or our part of it has changed since; .e2e-stamp says what it was made of.
e2e() {
	local made_of
	made_of="$version $(cd "$root/tests/e2e" && cat go.mod ./*/*.go | sha256sum)"
	if holds "$bin" kube-controller-manager fake-kubelet e2e.test e2e-volumes.test && [[ $(cat "$bin/.e2e-stamp" 2>/dev/null) == "$made_of" ]]; then
		return
	fi
	echo "building kube-controller-manager, a fake kubelet and the specs of $version: about ten minutes on two cores"
	program kube-controller-manager tests/e2e k8s.io/kubernetes/cmd/kube-controller-manager
	program fake-kubelet tests/e2e ./kubelet
	how="test -c -vet=off" program e2e.test tests/e2e ./suite
	how="test -c -vet=off" program e2e-volumes.test tests/e2e ./volumes
	echo "$made_of" >"$bin/.e2e-stamp"
}

target=${1:-kube}
case $target in
kube | etcd | oracle | bench-peer | kubectl | e2e) "$target" ;;
*)
	echo "build.sh: no such target: $target (kube, etcd, oracle, bench-peer, kubectl or e2e)" >&2
	exit 2
	;;
esac
