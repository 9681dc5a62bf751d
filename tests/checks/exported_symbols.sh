#!/bin/sh
# The shared libraries export what the public headers declare, all of it and nothing else; so every name begins with tdl_.
# Arguments: the repository's root, then the libraries.  CXX links the bad example.
. "$(dirname "$0")/check.sh"

lint() {
  case $1 in "$scratch"/*) set -- "$1" "$1"/*.so ;; *) set -- "$1" $libraries ;; esac
  cat "$1"/capi/include/treadle/*.h | tr '\n' ' ' | sed 's|\*/|\n|g' | sed 's|/\*.*||' | tr '\n' ' ' | tr ';{' '\n\n' |
    sed -n 's/.*TDL_API[^(]*[^A-Za-z0-9_(]\(tdl_[a-z0-9_]*\) *(.*/\1/p' | sort >"$scratch/declared"
  shift
  for library; do
    nm -D --defined-only "$library" | awk -v library="${library##*/}" '$2 != "A" { sub(/@.*/, "", $3); print $3, library }'
  done | sort >"$scratch/exported"
  awk '
    NR == FNR { declared[$1] = 1; next }
    $1 in by { print $1 ": is exported by " by[$1] " and by " $2; next }
    { by[$1] = $2 }
    !($1 in declared) { print $1 ": " $2 " exports it, but no public header declares it" }
    END { for (name in declared) if (!(name in by)) print name ": declared in a public header, exported by no library" }
  ' "$scratch/declared" "$scratch/exported"
  [ -s "$scratch/declared" ] || echo "headers: declare nothing"
}

fixture() {
  mkdir -p capi/include/treadle
  cat >capi/include/treadle/x.h <<'GOOD'
/* A comment; TDL_API void tdl_comment(void); ends
 * here. */
#define TDL_API __attribute__((visibility("default")))
TDL_API const char* tdl_name(int status); /* its name */ TDL_API
int tdl_second(void);
typedef void (*tdl_log_fn)(void* user);
TDL_API void tdl_absent(tdl_log_fn log);
TDL_API void tdl_twice(void);
GOOD
  printf 'extern "C" { const char* tdl_name(int) { return ""; } int tdl_second() { return 2; } void tdl_twice() {} }\nnamespace tdl { void inner() {} }\n' >a.cpp
  printf 'extern "C" { void tdl_twice() {} void tdl_undeclared() {} int other; }\n' >b.cpp
  for name in a b; do ${CXX:-c++} -shared -fPIC -nostdlib -x c++ $name.cpp -o lib$name.so || exit 1; done
  printf '%s\n' tdl_absent tdl_twice _ZN3tdl5innerEv tdl_undeclared other
}

root=$1
shift
libraries=$*
[ -n "$libraries" ] || { echo 'No library was named.'; exit 1; }
check "$root"
