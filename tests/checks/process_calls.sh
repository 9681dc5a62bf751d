#!/bin/sh
# What library code never does, by its source text: end the process, print, touch signals, locale or environment, throw, or go round
# kernels/core/os.  forbidden_symbols.sh looks at the compiled objects for the same reasons; this check names the line.
. "$(dirname "$0")/check.sh"

# A pattern of identifiers, what follows them, the files where they are allowed (a pattern), the reason.
rules='
abort|exit|_exit|_Exit|quick_exit|terminate|raise|kill|system|execl|execv|execvp|fork|popen @ [ \t]*\( @ ^$ @ ends or starts a process
assert @ [ \t]*\( @ ^$ @ ends the process in a debug build: return a Status
printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|putc|fputc|fwrite|perror|psignal @ [ \t]*\( @ ^$ @ prints
cout|cerr|clog|stdout|stderr|cin|stdin @ ([^A-Za-z0-9_]|$) @ ^$ @ uses a standard stream
signal|sigaction|setlocale|setenv|unsetenv|putenv|getenv|srand|rand|strtok|setjmp|longjmp|atexit|umask|chdir @ [ \t]*\( @ ^$ @ touches the state of the whole process
throw @ ([ \t]+[A-Za-z0-9_:"]|[ \t]*\(|[ \t]*$) @ ^(kernels|runtime)/([a-z]*/)?json[a-z_]*\.cpp$ @ throws: return a Status
malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|fopen|fdopen|freopen|mmap|mmap64|munmap|pread|openat @ [ \t]*\( @ ^kernels/core/os[a-z_]*\.cpp$ @ goes round kernels/core/os
thread_local @ ([^A-Za-z0-9_]|$) @ ^$ @ is state that outlives its engine
'

lint() {
  library "$1" | grep -v '^capi/include/' | code "$1" | RULES=$rules awk '
    BEGIN {
      count = split(ENVIRON["RULES"], rows, "\n")
      for (i = 1; i <= count; ++i) {
        if (split(rows[i], part, / @ /) < 4) continue
        ++rules
        pattern[rules] = "(^|[^A-Za-z0-9_.>])(" part[1] ")" part[2]
        allowed[rules] = part[3]
        reason[rules] = part[4]
      }
    }
    {
      split($0, place, ":")
      text = substr($0, length(place[1]) + length(place[2]) + 3)
      for (i = 1; i <= rules; ++i)
        if (match(text, pattern[i]) && place[1] !~ allowed[i]) {
          found = substr(text, RSTART, RLENGTH)
          gsub(/^[^A-Za-z_]+|[^A-Za-z_0-9]+$/, "", found)
          print place[1] ":" place[2] ": " found " " reason[i]
        }
    }'
}

fixture() {
  mkdir -p kernels/core runtime/load capi/src capi/examples
  cat >kernels/core/bad.cpp <<'BAD'
void f() {  // abort() in a comment
  abort();
  std::exit (1);
  const char* text = "printf(\"exit(1)\")"; const char* raw = R"x(throw 1;
abort(); )" still raw )x"; char quote = '"';
  assert(text);
  static_assert(1'000 == 1000, "exit()");  /* puts("x");
  puts("x"); */ puts("x");
  std::cerr << 1;
  throw 1;
  event.signal(1); this->exit(2); my_abort(); snprintf(text, 1, ""); terminated(); overthrow = 1; free(text);
  try { f(); } catch (const std::bad_alloc&) { throw; }
  if (x) ::signal(1, nullptr);
  if (x) std::terminate();
}
BAD
  for number in 2 3 6 8 9 10 13 14; do echo "kernels/core/bad.cpp:$number"; done
  printf 'void* p = malloc(1);\nvoid* q = mmap(0);\nint n = pread(1);\nthread_local int x;\n[[gnu::format(printf, 2, 3)]] void g();\n' | tee runtime/load/bad.cpp >kernels/core/os.cpp
  printf 'void f() { throw std::logic_error(""); }\n' >runtime/load/json.cpp
  for number in 1 2 3 4; do echo "runtime/load/bad.cpp:$number"; done
  echo kernels/core/os.cpp:4
  printf 'int main(void) { printf("fine"); exit(1); }\n' >capi/examples/generate.c
}

check "$@"
