# Prints a C or C++ file as 'name:line:text' with comments cut out and string and character literals emptied.  Raw strings are taken
# to end where ')delimiter"' does; a quote between digits is a separator, not a literal.
{
  text = $0
  out = ""
  while (text != "") {
    if (comment) {
      at = index(text, "*/")
      if (!at) break
      comment = 0
      text = substr(text, at + 2)
      continue
    }
    if (raw != "") {
      at = index(text, raw)
      if (!at) break
      text = substr(text, at + length(raw))
      raw = ""
      continue
    }
    two = substr(text, 1, 2)
    one = substr(text, 1, 1)
    if (two == "//") break
    if (two == "/*") {
      comment = 1
      text = substr(text, 3)
    } else if (match(text, /^R"[^()\\ ]*\(/) && out !~ /[A-Za-z0-9_]$/) {
      raw = ")" substr(text, 3, RLENGTH - 3) "\""
      out = out "\"\""
      text = substr(text, RLENGTH + 1)
    } else if (one == "\"" || (one == "'" && out !~ /[A-Za-z0-9_]$/)) {
      out = out one one
      for (i = 2; i <= length(text) && substr(text, i, 1) != one; ++i)
        if (substr(text, i, 1) == "\\") ++i
      text = substr(text, i + 1)
    } else {
      out = out one
      text = substr(text, 2)
    }
  }
  if (out ~ /[^ \t]/) print name ":" FNR ":" out
}
