# What the checks share; a check reads it with `.` from its own folder.  A check defines two functions and ends with: check "$@"
#   lint ROOT   prints a line 'place: what is wrong' per fault of the tree (or library) ROOT, and nothing else; a place is file:line
#               (line 1 for a whole file) or what the check says.  Lines 'WARN: ...' on the error output reach the suite's report.
#   fixture     makes a small bad tree in the current folder, which is empty, and prints the place of every fault that lint must find
#               there; good things beside them show that lint reports nothing more
# So every run first proves that the check can fail.  The roots to look at are the check's arguments.
set -u
LC_ALL=C
export LC_ALL

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM

check() {
  mkdir "$scratch/tree" || exit 1
  (cd "$scratch/tree" && fixture) | sort >"$scratch/expected"
  lint "$scratch/tree" >"$scratch/report" 2>"$scratch/notes"
  sed 's/: .*//' "$scratch/report" | sort >"$scratch/found"
  if [ ! -s "$scratch/expected" ] || ! cmp -s "$scratch/expected" "$scratch/found"; then
    echo 'The check does not find what it must in its own bad example (< must find, > found):'
    diff "$scratch/expected" "$scratch/found"
    cat "$scratch/report" "$scratch/notes"
    exit 1
  fi
  [ $# != 0 ] || { echo 'Nothing to look at was named.'; exit 1; }
  for root; do
    [ -e "$root" ] || { echo "$root is not there."; exit 1; }
    lint "$root"
  done >"$scratch/report"
  [ ! -s "$scratch/report" ] || { cat "$scratch/report"; exit 1; }
  echo "Nothing found; the bad example's $(wc -l <"$scratch/expected") faults are."
}

# files ROOT: the names, relative to ROOT, of the files that git knows or would add; without git, all but hidden and build folders.
files() {
  (cd "$1" && {
    { [ -e .git ] && git ls-files -co --exclude-standard 2>/dev/null; } ||
      find . -name '.?*' -prune -o -type d -name 'build*' -prune -o -type f -print | sed 's|^\./||'
  }) | sort | while IFS= read -r name; do [ ! -f "$1/$name" ] || printf '%s\n' "$name"; done
}

# library ROOT: the C, C++ and CUDA files of the rooms that end up in the library, public headers included.
library() {
  files "$1" | grep -E '^(kernels|runtime|capi/src|capi/include)/.*\.(h|c|cpp|cu|cuh|inc)$'
}

# code ROOT: reads file names, prints 'file:line:text' of every line, comments cut and strings emptied.
code() {
  while IFS= read -r name; do awk -v name="$name" -f "$(dirname "$0")/code.awk" "$1/$name"; done
}
