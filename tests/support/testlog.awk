# Reads meson-logs/testlog.json (one test a line) and counts test cases: those of doctest's summary where a program prints one, else
# one per test with Meson's own result.  Variables: tree (a name for messages), out (a folder that gets files, appended to):
#   counts     one line 'passed failed skipped'
#   failures   the whole output of every failed test
#   failed     one line per failed test
#   skips      one line per skipped test: the program's 'SKIP: reason' lines
#   warnings   the 'WARN: ' lines of all tests
# A doctest case that skips itself prints one line 'SKIP: reason' and returns; doctest counts it as passed, so it is moved here.

# The value of a JSON string field.  No string holds an unescaped quote, so the key's pattern cannot match inside another value.
function field(key,    text, at) {
  at = index($0, "\"" key "\": \"")
  if (!at) return ""
  text = substr($0, at + length(key) + 5)
  gsub(/\\\\/, "\001", text)
  gsub(/\\"/, "\002", text)
  text = substr(text, 1, index(text, "\"") - 1)
  gsub(/\\n/, "\n", text); gsub(/\\t/, "\t", text); gsub(/\\r/, "", text); gsub(/\\\//, "/", text)
  text = unescape(text)
  gsub(/\002/, "\"", text)
  gsub(/\001/, "\\\\", text)
  return text
}

function unescape(text,    done, code, low) {
  while (match(text, /\\u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/)) {
    code = hex(substr(text, RSTART + 2, 4))
    done = done substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + 6)
    if (code >= 55296 && code < 56320 && substr(text, 1, 2) == "\\u") {  # a surrogate pair
      low = hex(substr(text, 3, 4))
      text = substr(text, 7)
      code = 65536 + (code - 55296) * 1024 + (low - 56320)
    }
    done = done utf8(code)
  }
  return done text
}

function hex(text,    i, value) {
  for (i = 1; i <= length(text); ++i) value = value * 16 + index("0123456789abcdef", tolower(substr(text, i, 1))) - 1
  return value
}

function utf8(code) {
  if (code < 128) return sprintf("%c", code)
  if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
  if (code < 65536) return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
  return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, 128 + int(code / 64) % 64, 128 + code % 64)
}

# The number before a word in doctest's summary, '[doctest] test cases: 3 | 2 passed | 1 failed | 0 skipped'.
function amount(line, word) {
  return match(line, "[0-9]+ " word) ? substr(line, RSTART, RLENGTH) + 0 : 0
}

{
  name = field("name")
  sub(/^.* \/ /, "", name)
  result = field("result")
  text = field("stdout") field("stderr")
  count = split(text, lines, "\n")
  cases = -1; test_passed = test_failed = test_skipped = self_skipped = 0
  reasons = why = ""
  for (i = 1; i <= count; ++i) {
    if (lines[i] ~ /^\[doctest\] test cases:/) {
      sub(/^[^:]*: */, "", lines[i])
      cases = (cases < 0 ? 0 : cases) + lines[i]
      test_passed += amount(lines[i], "passed")
      test_failed += amount(lines[i], "failed")
      test_skipped += amount(lines[i], "skipped")
    } else if (lines[i] ~ /^SKIP: /) {
      ++self_skipped
      reasons = reasons tree ": " name ": " substr(lines[i], 7) "\n"
    } else if (lines[i] ~ /^WARN: /) {
      print name ": " substr(lines[i], 7) >> (out "/warnings")
    }
  }
  good = result == "OK" || result == "EXPECTEDFAIL"
  if (cases >= 0) {
    if (test_skipped) reasons = reasons tree ": " name ": " test_skipped " test cases that the program did not select\n"
    test_passed -= self_skipped
    test_skipped += self_skipped
    if (cases == 0 && !test_skipped) { ++test_failed; why = "ran no test case" }
    else if (!good && !test_failed) { ++test_failed; why = "ended badly after its test cases" }
    else if (good && test_failed) why = "reported failures but exited 0"
  } else if (result == "SKIP") {
    test_skipped = 1
    if (!self_skipped) reasons = tree ": " name ": gave no reason\n"
  } else if (good) {
    test_passed = 1
  } else {
    test_failed = 1
  }
  passed += test_passed; failed += test_failed; skipped += test_skipped
  if (reasons != "") printf "%s", reasons >> (out "/skips")
  if (test_failed) {
    match($0, /"returncode": -?[0-9]+/)
    how = result ", exit status " substr($0, RSTART + 14, RLENGTH - 14) (why == "" ? "" : ": " why)
    print tree ": " name " (" how ")" >> (out "/failed")
    printf "---- %s: %s (%s)\n%s\n", tree, name, how, text >> (out "/failures")
  }
}

END { print passed + 0, failed + 0, skipped + 0 > (out "/counts") }
