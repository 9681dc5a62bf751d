#!/bin/sh
# Builds everything and runs every test that needs no GPU, in a release tree (build/release) and under the address and undefined
# behaviour sanitizers (build/asan); and the kernels' for 64-bit Arm under QEMU (build/neon), where that and a cross compiler are there.  The last line is 'N passed, N failed, N skipped'; the exit status is 0 only when none failed.
# CXX chooses the compiler, for example CXX=clang++-14.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/support/suite.sh

suite_start
suite_tree release -Dbuildtype=release -Dgpu_archs=90a
suite_tree asan -Dcuda=disabled -Ddebug=true -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false \
  -Dc_args=-fno-sanitize-recover=all -Dcpp_args=-fno-sanitize-recover=all
suite_neon
suite_leave_out_long release
suite_leave_out_gpu
suite_end
