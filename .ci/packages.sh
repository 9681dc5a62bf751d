#!/bin/sh
# The one list of what building and testing Treadle takes, and a way to get it.  Used by capi/examples/demo.sh and, with the argument
# `tests`, by tests/run.sh.
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

# What more the tests use.  It is fetched if it can be; without it some tests are left out by name.
extras="
g++-aarch64-linux-gnu command aarch64-linux-gnu-g++
qemu-user command qemu-aarch64
"

is_there() {
  case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    header) printf '#include <%s>\n' "$2" | ${CXX:-c++} -std=c++20 -DPCRE2_CODE_UNIT_WIDTH=8 -E -x c++ - >/dev/null 2>&1 ;;
  esac
}

# find_missing LIST: sets `missing` to the packages of the list that are not there.
find_missing() {
  missing=$(printf '%s\n' "$1" | while read -r package kind what; do
    [ -z "$package" ] || is_there "$kind" "$what" || printf ' %s' "$package"
  done)
}

# install PACKAGE...: by apt; shows what it said when it failed.
install() {
  printf 'Installing: %s\n' "$*"
  log=$(mktemp) || return 1
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null
  status=$?
  [ $status = 0 ] || { cat "$log" >&2; printf 'apt-get could not install: %s\n' "$*" >&2; }
  rm -f "$log"
  return $status
}

can_install=false
[ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1 || can_install=true
with_extras=false
[ "${1:-}" != tests ] || [ "$(uname -m)" = aarch64 ] || with_extras=$can_install

find_missing "$needs"
if [ -n "$missing" ]; then
  if ! $can_install; then
    printf 'Treadle needs these packages (names as in Debian 12 and Ubuntu 24.04):%s\n' "$missing" >&2
    printf 'As root: apt-get update && apt-get install -y --no-install-recommends%s\n' "$missing" >&2
    exit 2
  fi
  # shellcheck disable=SC2086  # the names are words
  install $missing || exit 2
  find_missing "$needs"
  [ -z "$missing" ] || { printf 'Installed, but still not found:%s\n' "$missing" >&2; exit 2; }
fi
if $with_extras; then
  find_missing "$extras"
  # shellcheck disable=SC2086
  [ -z "$missing" ] || install $missing || true
fi
