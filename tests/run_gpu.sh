#!/bin/sh
# Runs the GPU tests of a tree that was built elsewhere, on a machine with an NVIDIA GPU; a test that is skipped there has failed.
#
#     sh tests/run_gpu.sh FOLDER [PART]
#
# FOLDER is a Meson build folder (meson setup FOLDER -Dgpu_archs=90a); its programs are all that is needed of it.  Parts, each under
# eight minutes:
#   1    parity of every stage with the host device, the golden families, the demo model, graphs against eager passes
#   2    compute-sanitizer: memcheck, initcheck and racecheck over three families and the stages
#   3    the golden families from PTX for compute capability 8.0: FOLDER was set up with -Dgpu_archs=80-ptx
# Without PART: 1 and 2.  The last line is 'N passed, N failed, N skipped'.
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n 's/^# \{0,1\}//;2,13p' tests/run_gpu.sh >&2; exit 2; }
folder=$(cd "$1" && pwd)
parts=${2:-1 2}

export TREADLE_TEST_DATA="$PWD/tests/data" TREADLE_GOLDEN_COMMITTED="$PWD/tests/golden"
export TREADLE_ABACUS_ROOT="$PWD/capi/examples/abacus" TREADLE_ABACUS="$PWD/capi/examples/abacus/model"

# cuBLASLt where the loader does not look: beside the toolkit, or in Python's packages.
if ! ldconfig -p 2>/dev/null | grep -q 'libcublasLt\.so\.13'; then
  for place in "$(dirname "$(dirname "$(command -v nvcc || echo /none/none)")")/lib64" \
    "$(python3 -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13", "lib"))' 2>/dev/null)"; do
    [ ! -e "$place/libcublasLt.so.13" ] || { LD_LIBRARY_PATH="$place${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; export LD_LIBRARY_PATH; break; }
  done
fi

passed=0 failed=0 skipped=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# run NAME PROGRAM [ARGUMENT...]: a doctest program; its cases count, and one that fails otherwise counts as one failure.
run() {
  name=$1; shift
  start=$(date +%s)
  if [ ! -x "$1" ] && ! command -v "$1" >/dev/null 2>&1; then
    printf '%s: there is no %s\n' "$name" "$1"
    skipped=$((skipped + 1))
    return
  fi
  "$@" >"$log" 2>&1
  status=$?
  p=$(sed -n 's/^\[doctest\] test cases: *[0-9]* *| *\([0-9]*\) passed.*/\1/p' "$log" | tail -n 1)
  f=$(sed -n 's/^\[doctest\] test cases:.*| *\([0-9]*\) failed.*/\1/p' "$log" | tail -n 1)
  s=$(grep -c '^SKIP' "$log")
  [ -n "$p" ] || p=0
  [ -n "$f" ] || f=1
  [ "$p" != 0 ] || [ "$f" != 0 ] || f=1
  [ $status = 0 ] || [ "$f" != 0 ] || f=1
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%s: %d passed, %d failed, %d skipped in %d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - start))
  if [ "$f" != 0 ] || [ "$s" != 0 ] || [ -n "${TREADLE_VERBOSE:-}" ]; then cat "$log"; fi
}

# The tests through the C ABI that hold on every device; the rest look into the CPU device's memory or time it.
any_device='replayed graphs*,at one bucket*,abacus*,*token_from*,kv_*,a model in memory*,*no_sample*,*sampl*'

for part in $parts; do
  case $part in
    1)
      run 'stages' "$folder/tests/kernels/kernels_cuda_test"
      run 'golden families' "$folder/tests/capi/capi_cuda_test"
      TREADLE_TEST_DEVICE=cuda run 'through the C ABI' "$folder/tests/capi/capi_test" --test-case="$any_device"
      ;;
    2)
      for tool in memcheck initcheck racecheck; do
        run "$tool, three families" compute-sanitizer --tool $tool --error-exitcode 1 "$folder/tests/capi/capi_cuda_test" --test-case='*three families*'
        run "$tool, stages" compute-sanitizer --tool $tool --error-exitcode 1 "$folder/tests/kernels/kernels_cuda_test" --test-case='*sanitizer*'
      done
      ;;
    3) run 'golden families from PTX' "$folder/tests/capi/capi_cuda_test" ;;
    *) printf 'run_gpu.sh: part %s is none of 1, 2, 3\n' "$part" >&2; exit 2 ;;
  esac
done
[ $skipped = 0 ] || printf 'A skipped GPU test counts as failed here.\n'
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ "$skipped" = 0 ]
