#!/usr/bin/env bash
# The tests of `make test` with other Pythons, each in a .venv of its own: pythons.sh python3.12 python3.13
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
for python in "$@"; do
	# A shim on PATH may stand for a Python that is not there.
	if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1); then
		echo "LEFT OUT: $python does not run here: $(head -n 1 <<<"$version")" >&2
		continue
	fi
	echo "$python is Python $version: make fast in .venv-$version"
	make --no-print-directory fast PYTHON="$python" VENV=".venv-$version" || failed=1
done
exit $failed
