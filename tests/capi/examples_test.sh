#!/bin/sh
# The examples' answers to abacus's prompts are those of answers.json, one after the other (generate) and batched continuously (batching).
# Arguments: the folder of abacus, the two programs.
set -eu
abacus=$1 generate=$2 batching=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Lines 'prompt answer', and the prompts alone.
awk -F'"' '
  /= *": *\{/ { prompt = $2 }
  /^"base"/ { base = 1 }
  /^"answer"/ && base { print prompt $4; base = 0 }' "$abacus/answers.json" >"$scratch/expected"
sed 's/=.*/=/' "$scratch/expected" >"$scratch/prompts"
[ "$(wc -l <"$scratch/expected")" -eq 50 ] || { echo "answers.json: not 50 base answers"; exit 1; }

set --
while IFS= read -r prompt; do set -- "$@" "$prompt"; done <"$scratch/prompts"
failed=0
for program in "$generate" "$batching"; do
  "$program" "$abacus/model" "$@" >"$scratch/got" || { echo "$program: exit status $?"; failed=1; }
  head -n 50 "$scratch/got" | diff "$scratch/expected" - || { echo "$program: differs from answers.json"; failed=1; }
done
exit $failed
