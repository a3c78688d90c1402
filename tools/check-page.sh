#!/usr/bin/env bash
# Checks the dashboard's page: types with tsc, and whatever Biome finds. Needs node; what it installs, once and
# as tools/page/package-lock.json has it, stays in tools/page/node_modules.
set -euo pipefail
cd "$(dirname "$0")/page"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo 'NOT CHECKED: the types and the style of the dashboard'"'"'s page: there is no node (20 or newer) on the PATH.' >&2
  exit 0
fi
if [ package-lock.json -nt node_modules/.installed ]; then
  if ! npm ci --silent >/dev/null; then
    echo 'NOT CHECKED: the types and the style of the dashboard'"'"'s page: npm could not install tools/page/package.json.' >&2
    exit 0
  fi
  touch node_modules/.installed
fi
node_modules/.bin/tsc --project .
node_modules/.bin/biome lint --config-path=. --error-on-warnings ../../src/moorage/dashboard/page
