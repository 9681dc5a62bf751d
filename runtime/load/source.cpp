#include "runtime/load/source.h"

#include <cstring>

#include "runtime/load/utf8.h"

namespace tdl {
namespace {

unsigned long long print(uint64_t value) { return value; }

// A name is looked up inside directories, so it must not be able to lead out of them.  '\' separates on some systems: a model must
// not load on one and be refused on another.
Status check_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos ||
      !is_utf8(name))
    return fail(Code::invalid_argument, "%s is not a plain file name", quoted(name).c_str());
  return {};
}

Status check_path(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos || !is_utf8(path))
    return fail(Code::invalid_argument, "%s is not a path", quoted(path).c_str());
  return {};
}

// The file at `path`, when bytes [offset, offset + bytes) lie in it.
Result<os::File> open_range(const std::string& path, uint64_t offset, uint64_t bytes) {
  TDL_ASSIGN(os::File file, os::File::open(path.c_str()));
  if (offset > file.bytes() || bytes > file.bytes() - offset)
    return fail(Code::io, "%s holds %llu bytes, not %llu at offset %llu", quoted(path).c_str(), print(file.bytes()), print(bytes),
                print(offset));
  return file;
}

}  // namespace

Status SourceFile::read(uint64_t offset, void* destination, uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset)
    return fail(Code::io, "%s: read of %llu bytes at offset %llu, past its end at %llu", quoted(name_).c_str(), print(bytes),
                print(offset), print(bytes_));
  if (bytes == 0) return {};
  if (memory_) {
    std::memcpy(destination, memory_ + offset, bytes);
    return {};
  }
  const Status status = file_.read(start_ + offset, destination, bytes);
  if (status.ok()) return {};
  return fail(status.code(), "%s: %s", quoted(name_).c_str(), status.message()).native(status.native_code());
}

Status Source::add_directory(std::string_view path) {
  TDL_TRY(check_path(path));
  Entry entry;
  entry.path = path;
  entry.directory = true;
  TDL_TRY(os::check_directory(entry.path.c_str()));
  entries_.push_back(std::move(entry));
  return {};
}

Status Source::add_memory(std::string_view name, const void* data, uint64_t bytes) {
  TDL_TRY(check_name(name));
  if (!data && bytes > 0) return fail(Code::invalid_argument, "%s: no data for %llu bytes", quoted(name).c_str(), print(bytes));
  Entry entry;
  entry.name = name;
  entry.memory = static_cast<const std::byte*>(data);
  entry.bytes = bytes;
  return add_file(std::move(entry));
}

Status Source::add_range(std::string_view name, std::string_view path, uint64_t offset, uint64_t bytes) {
  TDL_TRY(check_name(name));
  TDL_TRY(check_path(path));
  Entry entry;
  entry.name = name;
  entry.path = path;
  entry.offset = offset;
  entry.bytes = bytes;
  TDL_TRY(open_range(entry.path, offset, bytes).status());
  return add_file(std::move(entry));
}

Status Source::add_file(Entry entry) {
  for (const Entry& other : entries_)
    if (!other.directory && other.name == entry.name)
      return fail(Code::conflict, "%s is in the source already", quoted(entry.name).c_str());
  entries_.push_back(std::move(entry));
  return {};
}

Result<SourceFile> Source::open(std::string_view name) const {
  TDL_TRY(check_name(name));
  SourceFile file;
  file.name_ = name;
  for (const Entry& entry : entries_) {
    if (entry.directory || entry.name != name) continue;
    file.memory_ = entry.memory;
    file.bytes_ = entry.bytes;
    if (entry.path.empty()) return file;
    TDL_ASSIGN(file.file_, open_range(entry.path, entry.offset, entry.bytes));
    file.start_ = entry.offset;
    return file;
  }
  for (const Entry& entry : entries_) {
    if (!entry.directory) continue;
    const std::string path = entry.path + '/' + file.name_;
    Result<os::File> opened = os::File::open(path.c_str());
    if (!opened.ok() && opened.status().code() == Code::not_found) continue;
    TDL_ASSIGN(file.file_, std::move(opened));
    file.bytes_ = file.file_.bytes();
    return file;
  }
  return fail(Code::not_found, "no file %s in the source", quoted(name).c_str());
}

Result<std::string> Source::read_text(std::string_view name, uint64_t most) const {
  TDL_ASSIGN(const SourceFile file, open(name));
  if (file.bytes() > most)
    return fail(Code::format, "%s is too large: %llu bytes, at most %llu are read", quoted(name).c_str(), print(file.bytes()),
                print(most));
  std::string text(file.bytes(), '\0');
  TDL_TRY(file.read(0, text.data(), text.size()));
  return text;
}

}  // namespace tdl
