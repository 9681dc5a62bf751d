// The one wrapper over what the operating system may refuse: pages, files, threads.  Every site asks fault() first, so that a test
// can make it fail.  Small heap objects go through operator new, which a test program replaces; together these are every allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <thread>

#include "kernels/core/status.h"

namespace tdl::os {

enum class Site : int32_t { map_pages, open_file, stat_file, read_file, start_thread };

// True when a test wants this call to fail.  The hook is a symbol that only test programs define: nothing is stored in the library.
bool fault(Site site) noexcept;

// Zeroed pages of host memory, aligned to at least 4096 bytes.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  static Result<Pages> map(uint64_t bytes);  // `bytes` may be 0: no memory then, data() is null
  std::byte* data() const noexcept { return data_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// A regular file, opened for reading.  Reads are positional: a File may be shared by threads.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();
  // not_found when there is no such file, io for anything else (a directory, a pipe, no permission); `path` must not hold NUL.
  static Result<File> open(const char* path);
  uint64_t bytes() const noexcept { return bytes_; }  // the size when it was opened
  // Exactly `bytes` bytes from `offset`; a file that has become shorter is an io error.
  Status read(uint64_t offset, void* destination, uint64_t bytes) const;

 private:
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

// ok when `path` is a directory, after links; not_found when there is nothing, io for anything else.
Status check_directory(const char* path);

// Starts a thread that receives no signals (those stay the host's); function must not throw.
Status start_thread(std::thread* thread, void (*function)(void*), void* argument);

uint64_t available_memory() noexcept;  // bytes the system could give now; 0 = unknown
uint32_t usable_cores() noexcept;      // cores this process may run on; at least 1
uint64_t process_id() noexcept;       // another one in a forked child, which has none of this process's threads
uint64_t now_ns() noexcept;            // monotonic

}  // namespace tdl::os
