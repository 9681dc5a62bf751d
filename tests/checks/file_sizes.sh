#!/bin/sh
# Sizes that keep the tree readable and quick to clone.  A source over 400 lines gets a warning, over 600 it is a fault.  No file is over
# 2 MiB but data for tests and the demo model; the whole tree is at most 40 MiB.
. "$(dirname "$0")/check.sh"

warn_lines=400
most_lines=600
most_file=$((2 * 1024 * 1024))
most_tree=$((40 * 1024 * 1024))

lint() {
  files "$1" >"$scratch/files"
  grep -E '\.(h|c|cpp|cu|cuh|inc|sh|awk|py|rs|go|cs|build)$' "$scratch/files" | while IFS= read -r name; do
    count=$(wc -l <"$1/$name")
    if [ "$count" -gt $most_lines ]; then
      echo "$name:1: $count lines, the limit is $most_lines: split it"
    elif [ "$count" -gt $warn_lines ]; then
      echo "WARN: $name has $count lines; look whether it is one noun" >&2
    fi
  done
  while IFS= read -r name; do printf '%d %s\n' "$(wc -c <"$1/$name")" "$name"; done <"$scratch/files" |
    awk -v most_file=$most_file -v most_tree=$most_tree '
      {
        bytes = $1; total += bytes
        sub(/^[0-9]+ /, "")
        if (bytes > most_file && $0 !~ /^(tests\/data|tests\/golden|capi\/examples\/abacus)\//) print $0 ":1: " bytes " bytes, the limit is " most_file
      }
      END { if (total > most_tree) print "(tree):1: " total " bytes in all, the limit is " most_tree }'
}

fixture() {
  mkdir -p kernels/core tests/data capi/examples/abacus
  lines() { awk -v count="$1" 'BEGIN { while (count--) print "//" }'; }
  lines 400 >kernels/core/good.h
  lines 600 >kernels/core/long.cpp
  lines 601 >kernels/core/bad.cpp
  lines 700 >kernels/core/notes.txt
  echo kernels/core/bad.cpp:1
  # Files of zeros that take no room on the disk.
  zeros() { dd if=/dev/zero of="$2" bs=1 count=1 seek=$(($1 - 1)) 2>/dev/null; }
  zeros $most_file kernels/largest
  zeros $((most_file + 1)) kernels/too_large
  zeros $((most_file + 1)) tests/data/large
  zeros $((most_tree - 2 * most_file)) capi/examples/abacus/huge
  echo kernels/too_large:1
  echo '(tree):1'
}

check "$@"
