#!/bin/sh
# What the objects in our static libraries refer to and define: nothing that ends the process, prints or touches process-wide state, no
# writable globals, no static constructors or destructors.  Arguments: the archives.  CXX compiles the bad example.
# Not looked for: std::terminate, to which compilers refer for noexcept functions and std::thread in its assignment, and globals of
# namespace std, such as the waiters behind std::atomic::wait.  What nvcc adds to every object to register its kernels is allowed there.
. "$(dirname "$0")/check.sh"

# Symbols (a pattern), the objects where they are allowed (a pattern, matched against the object's name, which gets the word nlohmann
# when that library is compiled into it: its inline functions throw), the reason.
rules='
abort|exit|_exit|_Exit|quick_exit|raise|kill|__assert|__assert_fail|__assert_perror_fail|_ZSt21__glibcxx_assert_failPKciS0_S0_ @ ^$ @ ends the process
(__)?(v|vf|f|d|vd)?printf(_chk)?|puts|fputs|putchar|putc|fputc|fwrite|perror|psignal|std(in|out|err) @ ^$ @ prints
_ZSt[34](cin|cout|cerr|clog)|_ZNSt8ios_base4Init.* @ ^$ @ uses a standard stream
signal|bsd_signal|sigaction|sigset|setlocale|uselocale|setenv|unsetenv|putenv|(secure_)?getenv|s?rand|strtok|system|popen|fork|exec.* @ ^$ @ touches the state of the whole process
pthread_sigmask @ (^|_)os[a-z_]*\.cpp @ touches signals
_?_?sigsetjmp|_?setjmp|_?longjmp @ ^$ @ jumps
atexit|__cxa_guard_acquire @ \.cu\.o$ @ sets up an object that outlives every engine
__cxa_atexit|__cxa_thread_atexit @ ^$ @ sets up an object that outlives every engine
__cxa_throw @ nlohmann @ throws: return a Status
malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|(fd|fre)?open(at)?(64)?|fopen(64)?|mmap(64)?|pread(64)?|read|pthread_create|_ZNSt6thread15_M_start_thread.* @ (^|_)os[a-z_]*\.cpp @ goes round kernels/core/os
_ZNSt10filesystem.*|_ZNSt14basic_[io]?f.* @ ^$ @ goes round kernels/core/os
'

lint() {
  [ ! -d "$1" ] || set -- "$1"/*.a
  objdump -t "$1" | RULES=$rules awk '
    BEGIN {
      count = split(ENVIRON["RULES"], rows, "\n")
      for (i = 1; i <= count; ++i) {
        if (split(rows[i], part, / @ /) < 3) continue
        ++rules
        pattern[rules] = "^(" part[1] ")$"; allowed[rules] = part[2]; reason[rules] = part[3]
      }
    }
    / file format / { object = $1; sub(/:$/, "", object); sub(/^.*\//, "", object); seen[object] = object; next }
    !/\t/ { next }
    {
      split($0, half, "\t")
      words = split(half[1], left, " ")
      section = left[words]
      words = split(half[2], right, " ")
      symbol = right[words]
      if (symbol ~ /8nlohmann/) seen[object] = object " nlohmann"
      if (section == "*UND*") {
        wanted[object " " symbol] = 1
      } else if (section ~ /^\.(init_array|fini_array|ctors|dtors)/ || symbol ~ /^_GLOBAL__(sub_[ID]_|[ID]_)/) {
        print object " " symbol ": is a static constructor or destructor"
      } else if (section ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ && symbol != section &&
                 symbol !~ /^(DW\.ref\.|_ZGV|_ZZ?NK?St)/ && !(object ~ /\.cu\.o$/ && symbol ~ /__cudaFatCubinHandle$|__device_stub__.*__(tmp|handle)$/)) {
        print object " " symbol ": is a writable global"
      }
    }
    END {
      if (!object) print "archive: holds no object"
      for (use in wanted) {
        split(use, part, " ")
        for (i = 1; i <= rules; ++i) if (part[2] ~ pattern[i] && seen[part[1]] !~ allowed[i]) print use ": " reason[i]
      }
    }' | sort -u
}

fixture() {
  cat >bad.cpp <<'BAD'
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
extern "C" {
const char* volatile table_of_names[] = {"a", "b"};
int counter;
thread_local int per_thread = 1;
extern const char* const fixed_names[] = {"a", "b"};
extern const int fixed = 3;
void calls(int* x) {
  if (*x) std::abort();
  std::printf("%d", *x);
  *x = std::rand();
  if (*x) throw 1;
}
const std::string* local_static() {
  static const std::string text("a text that is longer than a short string can be");
  return &text;
}
}
BAD
  printf '#include <string>\nextern const std::string constructed;\nextern "C" const char* input();\nconst std::string constructed(input());\n' >constructed.cpp
  printf '#include <cstdlib>\nnamespace nlohmann { struct error { virtual ~error(); }; error::~error() {} }\nvoid* f(void* p) { if (!p) throw nlohmann::error(); return std::malloc(1); }\n' >json.cpp
  printf '#include <cstdlib>\n#include <memory>\nvoid* f(void* p) noexcept { return p ? p : std::malloc(1); }\nstruct V { virtual ~V() = default; };\nstd::unique_ptr<V> g() { return std::make_unique<V>(); }\n' >os.cpp
  for source in *.cpp; do ${CXX:-c++} -std=c++20 -O1 -fPIC -c "$source" -o "$source.o" || exit 1; done
  ar rc libbad.a ./*.o
  for symbol in abort rand __cxa_throw table_of_names counter per_thread __cxa_atexit __cxa_guard_acquire; do
    echo "bad.cpp.o $symbol"
  done
  # printf has another name where its use is checked; compilers differ in the name of a function's static.
  nm bad.cpp.o | awk '$NF ~ /printf|^_ZZ12local_static/ { print "bad.cpp.o " $NF }'
  echo 'json.cpp.o malloc'
  for symbol in _Z11constructedB5cxx11 __cxa_atexit; do echo "constructed.cpp.o $symbol"; done
  objdump -t constructed.cpp.o | awk '/init_array|_GLOBAL__/ { print "constructed.cpp.o " $NF }' | sort -u
}

check "$@"
