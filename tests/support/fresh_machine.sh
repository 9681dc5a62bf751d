#!/bin/sh
# Proves the README's two commands on a machine that has nothing yet: a minimal Debian 12 in a folder, a fresh clone in it, the commands
# run there by chroot.  By hand, as root, on Debian with the package debootstrap:
#
#   sh tests/support/fresh_machine.sh FOLDER [-w] [COMMAND...]
#
# FOLDER is made when it is not there: FOLDER/base.tar keeps the bare system (made once), FOLDER/root is unpacked anew from it on every
# run, with the clone in root/src/treadle.  -w takes the working tree (all that git would add) in place of the last commit.  COMMANDs,
# each one string for sh, replace the README's.  Packages come through this machine's apt configuration.  Mounts live in a namespace of
# their own and end with the run.
set -eu

suite=bookworm
here=$(cd "$(dirname "$0")/../.." && pwd)
die() { echo "fresh_machine.sh: $*" >&2; exit 2; }

[ $# -ge 1 ] || die 'usage: fresh_machine.sh FOLDER [-w] [COMMAND...]'
[ "$(id -u)" = 0 ] || die 'must be root'
folder=$1
shift
from=commit
[ "${1:-}" != -w ] || { from='working tree'; shift; }

if [ $# = 0 ]; then
  set -- 'sh capi/examples/demo.sh' 'sh tests/run.sh'
  for command; do grep -qF "$command" "$here/README.md" || die "README.md does not have the command: $command"; done
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
root=$folder/root
grep -q " $root" /proc/mounts && die "something is mounted below $root"

# The first mirror that this machine's apt would ask for Debian itself.
mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk '$1 == "URIs:" { print $2 } $1 == "deb" { for (i = 2; i <= NF; ++i) if ($i ~ /:\/\//) { print $i; break } }' | grep '/debian/*$' | head -n 1
}

if [ ! -f "$folder/base.tar" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase "$suite" "$root" "$(mirror)" >"$folder/debootstrap.log" 2>&1 || die "debootstrap failed, see $folder/debootstrap.log"
  # Sources, proxies and pins as here, and the certificates that they may need.
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  for part in sources.list sources.list.d apt.conf apt.conf.d preferences.d keyrings trusted.gpg.d; do
    [ ! -e "/etc/apt/$part" ] || cp -a "/etc/apt/$part" "$root/etc/apt/"
  done
  [ ! -d /usr/share/keyrings ] || cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
  # Hooks of programs that a bare system lacks.
  for hook in 20packagekit 50appstream 70debconf; do rm -f "$root/etc/apt/apt.conf.d/$hook"; done
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
  chroot "$root" apt-get clean
  tar -C "$root" -cf "$folder/base.tar.part" .
  mv "$folder/base.tar.part" "$folder/base.tar"
fi

rm -rf "$root"
mkdir "$root"
tar -C "$root" -xf "$folder/base.tar"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/src/treadle"
if [ "$from" = commit ]; then
  [ -z "$(git -C "$here" status --porcelain)" ] || echo 'fresh_machine.sh: note: what is not committed is not tried (-w would)' >&2
  rmdir "$root/src/treadle"
  git clone -q "file://$here" "$root/src/treadle"
else
  (cd "$here" && git ls-files -co --exclude-standard | while IFS= read -r name; do [ ! -f "$name" ] || printf '%s\n' "$name"; done |
    tar -T - -cf -) | tar -C "$root/src/treadle" -xf -
fi

for command; do
  echo "== $command ($from of $here, on $suite)"
  start=$(date +%s)
  status=0
  # Only the machine's own variables: none of this shell's is seen inside.
  unshare --mount --pid --fork env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    sh -c 'mount -t proc proc "$1/proc" && mount -t tmpfs shm "$1/dev/shm" && exec chroot "$1" sh -c "cd /src/treadle && $2"' \
    sh "$root" "$command" </dev/null || status=$?
  echo "== status $status after $(($(date +%s) - start)) s"
  [ $status = 0 ] || exit $status
done
