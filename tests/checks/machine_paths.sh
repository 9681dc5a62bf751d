#!/bin/sh
# No file of the tree names a place that exists on one machine only.
. "$(dirname "$0")/check.sh"

places='(work|root|home|tmp)'

lint() {
  files "$1" | grep -v '^\.ci/' | (cd "$1" && while IFS= read -r name; do grep -nIE "(^|[^A-Za-z0-9_.}*)-])/$places/" "$name" /dev/null; done) |
    sed 's/^\([^:]*:[0-9]*\):/\1: a path of one machine: /'
}

fixture() {
  mkdir -p kernels tests
  printf '// relative/%s/x and $%s/%s/y are fine\n// see /%s/x\n' work ROOT tmp work >kernels/a.h
  printf 'cp x "/%s/me"\n/%s/y\n' home tmp >tests/run.sh
  printf 'kernels/a.h:2\ntests/run.sh:1\ntests/run.sh:2\n'
}

check "$@"
