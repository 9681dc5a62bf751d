#!/bin/sh
# What takes longer than tests/run.sh may: the tests of the suite `long`, the thread sanitizer, and the whole suite with clang.
# Ends like tests/run.sh.  Needs clang (Debian's package clang) beside the usual packages.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/support/suite.sh

sanitize() {
  suite_tree "$1" -Dbuildtype=debugoptimized "-Db_sanitize=$2" -Db_lundef=false \
    -Dc_args=-fno-sanitize-recover=all -Dcpp_args=-fno-sanitize-recover=all
}

suite_start
suite_select='--no-suite gpu'
suite_tree release -Dbuildtype=release
sanitize tsan thread
if command -v clang++ >/dev/null 2>&1; then
  CC=clang CXX=clang++
  export CC CXX
  suite_tree clang-release -Dbuildtype=release
  sanitize clang-asan address,undefined
else
  suite_add 0 0 1
  printf 'clang: there is no clang++ on this machine\n' >>"$suite_out/skips"
fi
suite_leave_out_gpu
suite_end
