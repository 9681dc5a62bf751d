#!/bin/sh
# The shortest way to see Treadle work: gets the packages that are missing (apt, as root), builds the library and the example program
# `generate` in build/demo, and lets the model in capi/examples/abacus do some sums.  Own prompts: sh capi/examples/demo.sh '8 + 5 ='
set -eu
cd "$(dirname "$0")/../.."
sh .ci/packages.sh

tree=build/demo
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command quietly; what it printed is shown when it fails.
quietly() {
  "$@" >"$log" 2>&1 </dev/null || { cat "$log" >&2; echo "demo.sh: failed: $*" >&2; exit 1; }
}

if [ ! -f "$tree/build.ninja" ]; then
  echo "Building Treadle in $tree ..."
  quietly rm -rf "$tree"
  quietly meson setup "$tree" -Dbuildtype=release -Dtests=false
fi
quietly meson compile -C "$tree"

[ $# != 0 ] || set -- '17 + 25 =' '6 - 91 =' '44 + 70 =' '39 - 40 ='
"$tree/capi/examples/generate" capi/examples/abacus/model "$@"
