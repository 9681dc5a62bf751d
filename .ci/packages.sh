#!/bin/sh
# The one list of what building and testing Treadle takes, and a way to get it.  Used by capi/examples/demo.sh and tests/run.sh.
# Nothing happens where everything is there already.  Else root on a machine with apt gets the missing packages; anybody else is told
# their names (exit 2).  Things are looked for where the compiler will, so other distributions and hand-made installations count.
set -u

# Debian package, kind (a command to run, or a header to include), what to look for.  Names hold for Debian 12 and Ubuntu 24.04.
needs="
meson command meson
ninja-build command ninja
gcc command ${CC:-cc}
g++ command ${CXX:-c++}
pkg-config command pkg-config
doctest-dev header doctest/doctest.h
nlohmann-json3-dev header nlohmann/json.hpp
libhwy-dev header hwy/highway.h
libpcre2-dev header pcre2.h
libutf8proc-dev header utf8proc.h
"

is_there() {
  case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    header) printf '#include <%s>\n' "$2" | ${CXX:-c++} -std=c++20 -DPCRE2_CODE_UNIT_WIDTH=8 -E -x c++ - >/dev/null 2>&1 ;;
  esac
}

find_missing() {
  missing=$(printf '%s\n' "$needs" | while read -r package kind what; do
    [ -z "$package" ] || is_there "$kind" "$what" || printf ' %s' "$package"
  done)
}

find_missing
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  printf 'Treadle needs these packages (names as in Debian 12 and Ubuntu 24.04):%s\n' "$missing" >&2
  printf 'As root: apt-get update && apt-get install -y --no-install-recommends%s\n' "$missing" >&2
  exit 2
fi

printf 'Installing:%s\n' "$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086  # the names are words
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  printf 'apt-get could not install:%s\n' "$missing" >&2
  exit 2
fi
find_missing
[ -z "$missing" ] || { printf 'Installed, but still not found:%s\n' "$missing" >&2; exit 2; }
