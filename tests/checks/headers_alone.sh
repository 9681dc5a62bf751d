#!/bin/sh
# Each public header compiles alone, as C99 and as C++20, without a warning.  Arguments: the repository's root, a C compiler, a C++
# compiler.  Where one of the compilers is missing the check skips itself.
. "$(dirname "$0")/check.sh"

# warns TEXT COMPILER OPTION...: compiles a text that includes a header; its messages.
warns() {
  printf '%s' "$1" >"$scratch/unit"
  shift
  "$@" -fsyntax-only -Wall -Wextra -Wundef -pedantic -Werror "$scratch/unit" >"$scratch/messages" 2>&1
  [ $? != 0 ]
}

lint() {
  files "$1" | grep '^capi/include/.*\.h$' | sed 's|^capi/include/||' >"$scratch/headers"
  [ -s "$scratch/headers" ] || echo "capi/include: holds no header"
  while IFS= read -r name; do
    unit=$(printf '#include "%s"\n#include "%s"\ntypedef int unit_not_empty;\nx' "$name" "$name")
    unit=${unit%x}
    if warns "$unit" $c_compiler -std=c99 -Wstrict-prototypes -I "$1/capi/include" -x c; then
      echo "capi/include/$name:1: as C99: $(head -n 3 "$scratch/messages" | tr '\n' ' ')"
    fi
    if warns "$unit" $cxx_compiler -std=c++20 -I "$1/capi/include" -x c++; then
      echo "capi/include/$name:1: as C++20: $(head -n 3 "$scratch/messages" | tr '\n' ' ')"
    fi
  done <"$scratch/headers"
}

fixture() {
  mkdir -p capi/include/treadle
  printf '#ifndef A_H\n#define A_H\n#include <stdint.h>\ntypedef int32_t tdl_a;\n#endif\n' >capi/include/treadle/a.h
  printf '#pragma once\n#include "treadle/a.h"\ntdl_a tdl_needs(void);\n' >capi/include/treadle/good.h
  printf '#pragma once\nuint32_t tdl_alone(void);\n' >capi/include/treadle/incomplete.h
  printf '#pragma once\nstruct tdl_choice { union { int a, b; }; };\n' >capi/include/treadle/newer_c.h
  printf '#pragma once\nvoid tdl_class(int class);\n' >capi/include/treadle/keyword.h
  printf '#pragma once\nvoid tdl_old();\n' >capi/include/treadle/prototype.h
  printf 'typedef struct { int x; } tdl_twice;\n' >capi/include/treadle/unguarded.h
  for name in incomplete incomplete newer_c keyword prototype unguarded unguarded; do echo "capi/include/treadle/$name.h:1"; done
}

c_compiler=$2
cxx_compiler=$3
for compiler in "$c_compiler" "$cxx_compiler"; do
  # shellcheck disable=SC2086  # a command and its options
  set -- "$1" $compiler
  command -v "$2" >/dev/null 2>&1 || { echo "SKIP: there is no $2 on this machine"; exit 77; }
done
check "$1"
