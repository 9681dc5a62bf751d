#!/bin/sh
# Every header begins with a comment that says what it is, and can be included twice; every meson.build begins with a sentence.
. "$(dirname "$0")/check.sh"

lint() {
  files "$1" | grep -E '^(kernels|runtime|capi|tests)/.*\.(h|cuh)$' | while IFS= read -r name; do
    head -n 1 "$1/$name" | grep -qE '^(//|/\*) *[A-Za-z]' || echo "$name:1: begins with no comment that says what it is"
    grep -qE '^#(pragma once|ifndef [A-Z_]+_H_?$)' "$1/$name" || echo "$name:1: has neither #pragma once nor an include guard"
  done
  files "$1" | grep -E '(^|/)meson\.build$' | while IFS= read -r name; do
    head -n 1 "$1/$name" | grep -qE '^# *[A-Za-z]' || echo "$name:1: begins with no comment that says what it builds"
  done
}

fixture() {
  mkdir -p kernels/core capi/include/treadle
  printf '// Things.\n#pragma once\n' >kernels/core/good.h
  printf '/* Things. */\n#ifndef TREADLE_GOOD_H\n#define TREADLE_GOOD_H\n#endif\n' >capi/include/treadle/good.h
  printf '# Builds things.\n' >kernels/meson.build
  printf '#pragma once\n// Things.\n' >kernels/core/no_comment.h
  printf '// Things.\nint x;\n' >kernels/core/no_guard.h
  printf "core = static_library('x')\n" >kernels/core/meson.build
  printf 'kernels/core/no_comment.h:1\nkernels/core/no_guard.h:1\nkernels/core/meson.build:1\n'
}

check "$@"
