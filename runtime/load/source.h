// Where the files of a model or adapter come from: directories, memory, ranges of pack files, in any mixture.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/os.h"
#include "kernels/core/status.h"

namespace tdl {

// One file of a source, opened.  Reads are positional and may come from several threads.
class SourceFile {
 public:
  uint64_t bytes() const { return bytes_; }
  // Exactly `bytes` bytes from `offset`, which must lie inside the file (io otherwise, and for a file that became shorter).
  Status read(uint64_t offset, void* destination, uint64_t bytes) const;

 private:
  friend class Source;
  std::string name_;                   // for messages
  os::File file_;                      // unused for memory
  const std::byte* memory_ = nullptr;  // the caller's, alive as long as the source is used
  uint64_t start_ = 0, bytes_ = 0;
};

// A name is looked up in the single files first, then in the directories in the order they were added.  Names and paths are UTF-8
// without NUL, and not empty (invalid_argument).  A call that fails changes nothing.
class Source {
 public:
  // The directory must exist now (not_found, io); it is read when files are opened.  Links in it are followed: the Hugging Face
  // cache is made of them.
  Status add_directory(std::string_view path);
  // Single files.  `name` is a plain name: no '/' or '\', not "." or ".." (invalid_argument); twice the same is a conflict.
  // `data` is not copied and must outlive every use of the source.
  Status add_memory(std::string_view name, const void* data, uint64_t bytes);
  // `bytes` bytes at `offset` of the file at `path`, which must hold them now (io).
  Status add_range(std::string_view name, std::string_view path, uint64_t offset, uint64_t bytes);

  // not_found when no entry has the name; invalid_argument when it is not a plain one; io as the file system says, also when a
  // range no longer lies in its file.
  Result<SourceFile> open(std::string_view name) const;
  // A whole small file; format when it is larger than `most` bytes.
  Result<std::string> read_text(std::string_view name, uint64_t most) const;

 private:
  struct Entry {
    std::string name, path;       // a directory has no name
    const std::byte* memory = nullptr;
    uint64_t offset = 0, bytes = 0;
    bool directory = false;
  };
  Status add_file(Entry entry);

  std::vector<Entry> entries_;
};

}  // namespace tdl
