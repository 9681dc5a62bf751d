#!/bin/sh
# The arrows between rooms: which folder may include what.  capi -> runtime -> kernels -> kernels/core; nothing points back.
. "$(dirname "$0")/check.sh"

# Own headers.  The row with the longest matching folder counts; "X/*.h" means headers directly in X.  Includes in quotes are spelled
# from the repository's root (public headers: from capi/include).  host_device() and cuda_device() are declared in kernels/*.h, so
# nobody but the devices themselves includes kernels/host or kernels/cuda.
own='
kernels/core      kernels/core/
kernels           kernels/core/ kernels/*.h
kernels/host      kernels/core/ kernels/*.h kernels/host/
kernels/cuda      kernels/core/ kernels/*.h kernels/cuda/
runtime/load      kernels/core/ kernels/*.h runtime/load/ runtime/model/arch_table.h
runtime/model     kernels/core/ kernels/*.h runtime/load/ runtime/model/
runtime/kv        kernels/core/ kernels/*.h runtime/kv/
runtime/step      kernels/core/ kernels/*.h runtime/step/
runtime/adapters  kernels/core/ kernels/*.h runtime/adapters/
runtime/graphs    kernels/core/ kernels/*.h runtime/graphs/
runtime/sequence  kernels/core/ kernels/*.h runtime/sequence/
runtime/text      kernels/core/ runtime/text/
runtime           kernels/core/ kernels/*.h runtime/*.h runtime/load/ runtime/model/ runtime/kv/ runtime/step/ runtime/adapters/ runtime/graphs/ runtime/sequence/
capi/include      treadle/
capi/src          kernels/core/ runtime/ capi/src/ treadle/
capi/examples     treadle/
'

# Headers of others in <>: a pattern, then the only files (patterns) that may include them.
foreign='
^(cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|nccl|nv|cub/|thrust/|cute/|cutlass/|cooperative_groups|mma\.h)   ^kernels/cuda/
^nlohmann/                                              ^(kernels|runtime)/([a-z]*/)?json[a-z_]*\.(h|cpp)$
^(pcre2|utf8proc)                                       ^runtime/text/
^hwy/                                                   ^kernels/host/
^doctest                                                ^$
^(iostream|ostream|istream|fstream|filesystem|print|syncstream|cassert|assert\.h|csignal|csetjmp|setjmp\.h|locale|clocale|locale\.h|regex|format|source_location)$   ^$
^(unistd|fcntl|signal|pthread|sched|poll|dirent|spawn|termios|netdb)\.h$                            ^kernels/core/os[a-z_]*\.cpp$
^sys/                                                   ^kernels/core/os[a-z_]*\.cpp$
^dlfcn\.h$                                              ^kernels/(core/os[a-z_]*\.cpp|cuda/.*)$
'

# What the examples may use beside treadle/: the C standard library.
standard='^(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|tgmath|time|wchar|wctype)\.h$'

lint() {
  files "$1" | grep -E '^(kernels|runtime|capi)/.*\.(h|c|cpp|cu|cuh|inc)$' | while IFS= read -r name; do
    awk -v name="$name" '/^[ \t]*#[ \t]*include/ { print name ":" FNR ":" $0 }' "$1/$name"
  done | OWN=$own FOREIGN=$foreign STANDARD=$standard awk '
    BEGIN {
      count = split(ENVIRON["OWN"], rows, "\n")
      for (i = 1; i <= count; ++i) if (rows[i] != "") { split(rows[i], words, " "); allowed[words[1]] = substr(rows[i], length(words[1]) + 1) }
      foreign = split(ENVIRON["FOREIGN"], rules, "\n")
    }
    function own_row(name,    folder) {
      folder = name
      while (sub(/\/[^\/]*$/, "", folder)) if (folder in allowed) return folder
      return ""
    }
    function own_allowed(folder, path,    words, count, i, prefix) {
      count = split(allowed[folder], words, " ")
      for (i = 1; i <= count; ++i) {
        prefix = words[i]
        if (sub(/\*\.h$/, "", prefix)) {
          if (index(path, prefix) == 1 && substr(path, length(prefix) + 1) !~ /\//) return 1
        } else if (index(path, prefix) == 1) return 1
      }
      return 0
    }
    {
      split($0, part, ":")
      name = part[1]; where = part[1] ":" part[2] ": "
      if (!match($0, /["<][^">]*[">]/)) { print where "an include of neither \"...\" nor <...>"; next }
      quote = substr($0, RSTART, 1)
      path = substr($0, RSTART + 1, RLENGTH - 2)
      if (quote == "\"" || path ~ /^(treadle|kernels|runtime|capi|tests)\//) {
        folder = own_row(name)
        if (folder == "") print where "this folder has no row in tests/checks/include_arrows.sh"
        else if (!own_allowed(folder, path)) print where folder " may not include " path
        next
      }
      if (name ~ /^capi\/include\// && path !~ /^(stddef|stdint)\.h$/) { print where "public headers include only stddef.h and stdint.h, not " path; next }
      if (name ~ /^capi\/examples\// && path !~ ENVIRON["STANDARD"]) { print where "examples use treadle/ and the C standard library, not " path; next }
      if (name ~ /^capi\/examples\//) next
      for (i = 1; i <= foreign; ++i) {
        if (split(rules[i], words, " ") < 2) continue
        if (path ~ words[1] && name !~ words[2]) print where path " is not for this file"
      }
    }'
}

fixture() {
  mkdir -p kernels/core kernels/host kernels/cuda runtime/load runtime/model runtime/kv runtime/step runtime/text runtime/tools capi/src \
    capi/include/treadle capi/examples tests
  printf '#include <stdint.h>\n#include "runtime/load/config.h"\n#include "kernels/stages.h"\n' >kernels/core/back.h
  printf '2 3\n' | name=kernels/core/back.h lines
  printf '#include "kernels/core/a.h"\n#include "kernels/host/pool.h"\n#include "a.h"\n' >kernels/device.h
  printf '2 3\n' | name=kernels/device.h lines
  printf '#include "kernels/device.h"\n#include "kernels/host/pool.h"\n#include <cuda_runtime.h>\n#include "kernels/cuda/x.h"\n' >kernels/host/pool.cpp
  printf '3 4\n' | name=kernels/host/pool.cpp lines
  printf '#include <cuda_runtime.h>\n#include <cuda/std/array>\n#include "kernels/cuda/x.h"\n#include "kernels/device.h"\n' >kernels/cuda/x.cu
  printf '#include "runtime/model/arch_table.h"\n#include "runtime/model/weights.h"\n#include <unistd.h>\n#include <sys/mman.h>\n' >runtime/load/config.h
  printf '2 3 4\n' | name=runtime/load/config.h lines
  printf '#include <nlohmann/json.hpp>\n' | tee runtime/load/json.cpp >runtime/model/weights.cpp
  printf '1\n' | name=runtime/model/weights.cpp lines
  printf '#include "runtime/step/layout.h"\n  #  include "runtime/kv/page_math.h"\n' >runtime/kv/pool.h
  printf '1\n' | name=runtime/kv/pool.h lines
  printf '#include <pcre2.h>\n#include <fstream>\n#include "runtime/load/json.h"\n#include "kernels/stages.h"\n' >runtime/text/bpe.cpp
  printf '2 3 4\n' | name=runtime/text/bpe.cpp lines
  printf '#include "runtime/text/bpe.h"\n#include "runtime/kv/pool.h"\n#include "capi/src/boundary.h"\n#include "kernels/cuda/device.h"\n#include MACRO\n' >runtime/engine.cpp
  printf '1 3 4 5\n' | name=runtime/engine.cpp lines
  printf '#include "runtime/tools/x.h"\n#include "treadle/engine.h"\n' >runtime/tools/x.cpp
  printf '1 2\n' | name=runtime/tools/x.cpp lines
  printf '#include "treadle/engine.h"\n#include <treadle/engine.h>\n#include "runtime/text/bpe.h"\n#include "kernels/host/pool.h"\n#include "tests/support/x.h"\n' >capi/src/engine.cpp
  printf '4 5\n' | name=capi/src/engine.cpp lines
  printf '#include <stdint.h>\n#include "treadle/status.h"\n#include <stdbool.h>\n#include "kernels/core/status.h"\n' >capi/include/treadle/engine.h
  printf '3 4\n' | name=capi/include/treadle/engine.h lines
  printf '#include <stdio.h>\n#include "treadle/treadle.h"\n#include <unistd.h>\n#include "runtime/engine.h"\n' >capi/examples/generate.c
  printf '3 4\n' | name=capi/examples/generate.c lines
  printf '#include "anything.h"\n' >tests/a_test.cpp
}

# Reads line numbers, prints them as places in the file called $name.
lines() { tr ' ' '\n' | while read -r number; do echo "$name:$number"; done; }

check "$@"
