#include "kernels/core/os.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Defined by test programs only; in every other program the reference stays null.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] int32_t treadle_test_fault(int32_t site);

namespace tdl::os {
namespace {

// A path as a message may show it: its first bytes, without control characters.
struct Printable {
  char text[160];
  explicit Printable(const char* path) {
    size_t i = 0;
    for (; path[i] && i + 1 < sizeof text; ++i) text[i] = static_cast<unsigned char>(path[i]) < 0x20 || path[i] == 0x7F ? '?' : path[i];
    while (path[i] && i > 0 && (static_cast<unsigned char>(path[i]) & 0xC0) == 0x80) --i;  // never half a character
    text[i] = '\0';
  }
};

}  // namespace

constexpr uint64_t kHugePage = 2u << 20;

bool fault(Site site) noexcept { return treadle_test_fault && treadle_test_fault(static_cast<int32_t>(site)) != 0; }

Pages::Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (data_) munmap(data_, bytes_);
}

Result<Pages> Pages::map(uint64_t bytes) {
  Pages pages;
  if (bytes == 0) return pages;
  void* data = MAP_FAILED;
  errno = ENOMEM;
  if (!fault(Site::map_pages) && bytes <= SIZE_MAX / 2)
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return fail(Code::out_of_memory, "no host memory for %llu bytes", static_cast<unsigned long long>(bytes)).needs(bytes).native(errno);
  // Weights and KV are read from end to end: larger pages spare the processor many address look-ups.  A refusal does not matter.
  if (bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
  pages.data_ = static_cast<std::byte*>(data);
  pages.bytes_ = bytes;
  return pages;
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, 0)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<File> File::open(const char* path) {
  File file;
  errno = EIO;
  // O_NONBLOCK: a pipe in place of a file must not make the host hang.
  if (!fault(Site::open_file)) file.descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file.descriptor_ < 0) {
    const int error = errno;
    return fail(error == ENOENT || error == ENOTDIR ? Code::not_found : Code::io, "cannot open: %s: '%s'", std::generic_category().message(error).c_str(),
                Printable(path).text).native(error);
  }
  struct stat info;
  errno = EIO;
  if (fault(Site::stat_file) || fstat(file.descriptor_, &info) != 0) return fail(Code::io, "cannot stat '%s'", Printable(path).text).native(errno);
  if (!S_ISREG(info.st_mode)) return fail(Code::io, "not a regular file: '%s'", Printable(path).text);
  file.bytes_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status File::read(uint64_t offset, void* destination, uint64_t bytes) const {
  auto* out = static_cast<std::byte*>(destination);
  if (offset > bytes_ || bytes > bytes_ - offset)
    return fail(Code::io, "read of %llu bytes at %llu, past the file's end", static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(offset));
  while (bytes > 0) {
    errno = EIO;
    const size_t want = bytes < (1u << 30) ? bytes : (1u << 30);
    const ssize_t got = fault(Site::read_file) ? -1 : pread(descriptor_, out, want, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Code::io, "read failed at offset %llu", static_cast<unsigned long long>(offset)).native(errno);
    if (got == 0) return fail(Code::io, "the file became shorter while it was read, at offset %llu", static_cast<unsigned long long>(offset));
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return {};
}

Status check_directory(const char* path) {
  struct stat info;
  errno = EIO;
  if (fault(Site::stat_file) || stat(path, &info) != 0) {
    const int error = errno;
    return fail(error == ENOENT || error == ENOTDIR ? Code::not_found : Code::io, "cannot open the directory: %s: '%s'", std::generic_category().message(error).c_str(),
                Printable(path).text).native(error);
  }
  if (!S_ISDIR(info.st_mode)) return fail(Code::io, "not a directory: '%s'", Printable(path).text);
  return {};
}

Status start_thread(std::thread* thread, void (*function)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  int error = EAGAIN;
  if (!fault(Site::start_thread)) {
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      *thread = std::thread(function, argument);
      error = 0;
    } catch (const std::system_error& e) {
      error = e.code().value();
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (error) return fail(Code::out_of_memory, "cannot start a thread").native(error);
  return {};
}

uint64_t available_memory() noexcept {
  const int descriptor = ::open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  char text[4096];
  const ssize_t got = ::read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* line = std::strstr(text, "MemAvailable:");
  return line ? std::strtoull(line + 13, nullptr, 10) * 1024 : 0;
}

uint32_t usable_cores() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<uint32_t>(online) : 1;
}

uint64_t process_id() noexcept { return static_cast<uint64_t>(getpid()); }

uint64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace tdl::os
