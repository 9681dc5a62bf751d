# Shell functions for tests/run.sh, tests/long.sh and the like; read with `.` from the repository's root.
#   suite_start                    installs what is missing (or exits 2) and sets the counters to zero
#   suite_tree NAME [OPTION...]    builds build/NAME with these Meson options and runs its tests
#   suite_neon                     the kernels' tests for 64-bit Arm, cross-compiled and run under QEMU; counted as skipped where either is missing
#   suite_leave_out_gpu            counts the GPU tests as skipped and names them
#   suite_leave_out_long NAME      the same for the tests of build/NAME that Meson lists in the suite `long`
#   suite_end                      prints failures, skips and the closing line 'N passed, N failed, N skipped'; its status is the suite's
# CC, CXX and the compiler's flags are taken from the environment; a tree is configured anew when they change.
# suite_select holds options for `meson test` that choose the tests, suite_targets what to build for them (nothing: all); a caller may set
# them before suite_tree.

suite_select='--no-suite gpu --no-suite long'
suite_targets=

# Sanitizers end the program at the first fault; leaks count.
suite_sanitizers() {
  export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1"
  export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
  export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1"
}

suite_start() {
  # A C++ compiler named alone brings its C sibling along: clang++-14 means clang-14.
  case ${CC:-none}:${CXX:-} in
    none:*clang++*) CC=$(printf '%s\n' "$CXX" | sed 's/clang++/clang/') && export CC CXX ;;
    none:*g++*) CC=$(printf '%s\n' "$CXX" | sed 's/g++/gcc/') && export CC CXX ;;
  esac
  sh .ci/packages.sh tests || exit 2
  suite_sanitizers
  suite_passed=0 suite_failed=0 suite_skipped=0
  suite_out=$(mktemp -d) || exit 2
  trap 'rm -rf "$suite_out"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  : >"$suite_out/failed"; : >"$suite_out/skips"; : >"$suite_out/warnings"
}

# suite_add PASSED FAILED SKIPPED
suite_add() {
  suite_passed=$((suite_passed + $1)) suite_failed=$((suite_failed + $2)) suite_skipped=$((suite_skipped + $3))
}

# suite_fault MESSAGE FILE: something beside a test went wrong; the file is its output.
suite_fault() {
  suite_add 0 1 0
  printf '%s\n' "$1" >>"$suite_out/failed"
  printf -- '---- %s\n' "$1"
  cat "$2"
}

# Configures when there is no build file yet, or when the options or the environment are not those of last time.
suite_configure() {
  tree=$1; shift
  wanted="$* | ${CC:-} | ${CXX:-} | ${CFLAGS:-} | ${CXXFLAGS:-} | ${CPPFLAGS:-} | ${LDFLAGS:-}"
  if [ -f "$tree/build.ninja" ] && [ "$wanted" = "$(cat "$tree/suite_options" 2>/dev/null)" ]; then return 0; fi
  rm -rf "$tree"
  meson setup "$tree" "$@" && printf '%s\n' "$wanted" >"$tree/suite_options"
}

suite_tree() {
  name=$1; shift
  tree=build/$name
  log=$suite_out/log
  printf '%s: building\n' "$tree"
  start=$(date +%s)
  if ! suite_configure "$tree" "$@" >"$log" 2>&1 </dev/null; then suite_fault "$tree cannot be configured" "$log"; return; fi
  # shellcheck disable=SC2086  # targets
  if ! meson compile -C "$tree" $suite_targets >"$log" 2>&1 </dev/null; then suite_fault "$tree does not build" "$log"; return; fi
  built=$(date +%s)
  printf '%s: built in %d s; testing\n' "$tree" $((built - start))

  # The multiplier stretches Meson's 30 s per test: only a hang shall run into it, sanitizers and a busy machine included.
  results=$tree/meson-logs/testlog.json
  rm -f "$results" "$suite_out/failures" "$suite_out/counts"
  # shellcheck disable=SC2086  # options
  meson test -C "$tree" --no-rebuild -t 8 $suite_select >"$log" 2>&1 </dev/null
  status=$?
  [ -f "$results" ] || : >"$results"
  LC_ALL=C awk -v tree="$name" -v out="$suite_out" -f tests/support/testlog.awk "$results"
  read -r p f s <"$suite_out/counts"
  suite_add "$p" "$f" "$s"
  [ ! -f "$suite_out/failures" ] || cat "$suite_out/failures"
  printf '%s: %d passed, %d failed, %d skipped in %d s\n' "$tree" "$p" "$f" "$s" $(($(date +%s) - built))
  if [ "$f" = 0 ] && { [ $status != 0 ] || [ $((p + s)) = 0 ]; }; then suite_fault "$tree: meson test ended with status $status" "$log"; fi
}

suite_neon() {
  [ "$(uname -m)" != aarch64 ] || return 0  # the other trees have run it
  for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v $tool >/dev/null 2>&1 && continue
    suite_add 0 0 1
    printf 'NEON: kernels: %s is not there\n' $tool >>"$suite_out/skips"
    return
  done
  all="$suite_select"
  suite_targets=kernels_test suite_select=kernels
  suite_tree neon --cross-file tests/support/aarch64.ini -Dbuildtype=release -Dcuda=disabled
  suite_targets='' suite_select=$all
}

# GPU tests are the sources in folders called cuda: they need a compiler and a machine that most do not have, so they are found by name.
suite_leave_out_gpu() {
  for source in $(find tests -path '*/cuda/*_test.c*' | LC_ALL=C sort); do
    cases=$(grep -c '^TEST_CASE' "$source")
    suite_add 0 0 "$cases"
    printf 'GPU: %s: %d test cases need a GPU\n' "$source" "$cases" >>"$suite_out/skips"
  done
}

suite_leave_out_long() {
  [ -f "build/$1/build.ninja" ] || return 0
  meson test -C "build/$1" --no-rebuild --list --suite long 2>/dev/null | grep -v '^No suitable' >"$suite_out/long"
  while read -r line; do
    suite_add 0 0 1
    printf 'long: %s: only tests/long.sh runs it\n' "${line##* / }" >>"$suite_out/skips"
  done <"$suite_out/long"
}

suite_end() {
  [ ! -s "$suite_out/warnings" ] || { printf '\nWarnings:\n'; LC_ALL=C sort -u "$suite_out/warnings"; }
  [ ! -s "$suite_out/skips" ] || { printf '\nSkipped:\n'; cat "$suite_out/skips"; }
  grep -q '^GPU: ' "$suite_out/skips" || printf '\nNo GPU test was left out.\n'
  [ ! -s "$suite_out/failed" ] || { printf '\nFailed:\n'; cat "$suite_out/failed"; }
  printf '%d passed, %d failed, %d skipped\n' "$suite_passed" "$suite_failed" "$suite_skipped"
  [ "$suite_failed" = 0 ]
}
