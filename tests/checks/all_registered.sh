#!/bin/sh
# Every source is compiled by this build, every test program and every check is run by Meson.  Reads what Meson and Ninja wrote into the
# build folder, so it cannot be fooled by a name in a comment.  Arguments: the repository's root, the build folder.
# Sources in folders called cuda count only in builds that compile at least one of them; those in folders called isa may be for another
# architecture, and need only be named in their folder's meson.build; so do .cu files, which nvcc compiles out of Meson's sight,
# and *_absent.cpp, which stand in for what a build leaves out.
. "$(dirname "$0")/check.sh"

lint() {
  case $1 in "$scratch"/*) build=$1/build ;; *) build=$build_folder ;; esac
  build=$(cd "$build" && pwd -P) && root=$(cd "$1" && pwd -P) || { echo "build: is no folder"; return; }
  for name in compile_commands.json meson-info/intro-tests.json; do
    [ -s "$build/$name" ] || { echo "$name: is missing in $build"; return; }
  done
  # A line 'source target' per compilation; the source relative to the root, the target relative to the build folder.
  awk -v root="$root/" '
    function value(line) { sub(/^[^:]*: *"/, "", line); sub(/",? *$/, "", line); return line }
    /^ *"directory": / { directory = value($0) }
    /^ *"file": / { file = value($0); if (file !~ /^\//) file = directory "/" file }
    /^ *"output": / {
      target = value($0)
      sub(/\.p\/[^\/]*$/, "", target)
      while (sub(/\/[^\/]+\/\.\.\//, "/", file)) { }
      if (index(file, root) == 1) print substr(file, length(root) + 1), target
    }' "$build/compile_commands.json" >"$scratch/compiled"
  [ -s "$scratch/compiled" ] || echo "compile_commands.json: compiles nothing of $root"

  files "$1" | grep -E '^(kernels|runtime|capi/src|capi/examples|tests)/.*\.(c|cpp|cu)$' | while IFS= read -r name; do
    target=$(awk -v name="$name" '$1 == name { print $2; exit }' "$scratch/compiled")
    case $name in */cuda/*) grep -q '/cuda/[^ ]* ' "$scratch/compiled" || continue ;; esac
    stem=${name##*/} && stem=${stem%.*}
    case $name in */isa/*) [ -n "$target" ] || ! grep -q "'$stem'" "$1/${name%/*}/meson.build" || continue ;; esac
    case $name in *.cu | *_absent.cpp) ! grep -q "'${name##*/}'" "$1/${name%/*}/meson.build" || continue ;; esac
    if [ -z "$target" ]; then
      echo "$name:1: is compiled by no meson.build"
      continue
    fi
    case $name in
      *_test.*) grep -qF "\"$build/$target\"" "$build/meson-info/intro-tests.json" || echo "$name:1: $target is no registered test" ;;
      tests/*) ! grep -q '^TEST_CASE' "$1/$name" || echo "$name:1: has test cases, but its name does not end with _test" ;;
    esac
  done
  files "$1" | grep '^tests/checks/.*\.sh$' | while IFS= read -r name; do
    [ "$name" = tests/checks/check.sh ] || grep -qF "\"$root/$name\"" "$build/meson-info/intro-tests.json" ||
      echo "$name:1: is no registered test"
  done
}

fixture() {
  mkdir -p kernels/core kernels/cuda kernels/isa tests/kernels/core tests/checks build/meson-info
  : >kernels/core/compiled.cpp
  : >kernels/core/forgotten.cpp
  : >kernels/cuda/elsewhere.cu
  : >kernels/isa/elsewhere.cpp
  : >kernels/isa/forgotten.cpp
  echo "sets = {'elsewhere': []}" >kernels/isa/meson.build
  : >tests/checks/check.sh
  : >tests/checks/good.sh
  : >tests/checks/idle.sh
  printf 'TEST_CASE("x") {}\n' | tee tests/kernels/core/good_test.cpp tests/kernels/core/idle_test.cpp tests/kernels/core/stray_test.cpp \
    >tests/kernels/core/misnamed.cpp
  build=$(pwd -P)/build
  entry() { printf '  {\n    "directory": "%s",\n    "command": "c++",\n    "file": "%s",\n    "output": "%s"\n  },\n' "$build" "$1" "$2"; }
  {
    entry ../kernels/core/compiled.cpp kernels/core/libtdl-core.a.p/compiled.cpp.o
    entry ../tests/kernels/core/good_test.cpp tests/kernels/core/good_test.p/good_test.cpp.o
    entry "$(pwd -P)/tests/kernels/core/idle_test.cpp" tests/kernels/core/idle_test.p/idle_test.cpp.o
    entry ../tests/kernels/core/misnamed.cpp tests/kernels/core/misnamed.p/misnamed.cpp.o
  } >build/compile_commands.json
  printf '[{"cmd": ["%s/tests/kernels/core/good_test"]}, {"cmd": ["sh", "%s/tests/checks/good.sh"]}]' "$build" "$(pwd -P)" >build/meson-info/intro-tests.json
  for name in kernels/core/forgotten.cpp kernels/isa/forgotten.cpp tests/kernels/core/idle_test.cpp tests/kernels/core/stray_test.cpp \
    tests/kernels/core/misnamed.cpp tests/checks/idle.sh; do echo "$name:1"; done
}

build_folder=$2
check "$1"
