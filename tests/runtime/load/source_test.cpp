#include "runtime/load/source.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/support/fault.h"
#include "tests/support/temp_folder.h"

using namespace tdl;
using tdl::test::TempFolder;

namespace {

std::string content(const Source& source, std::string_view name) {
  const Result<std::string> text = source.read_text(name, 1000);
  return text.ok() ? text.value() : std::string("failed: ") + text.status().message();
}

Code open_code(const Source& source, std::string_view name) { return source.open(name).status().code(); }

bool contains(const Status& status, const char* part) { return std::string(status.message()).find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("source") {
  TEST_CASE("a directory, memory and a range of a pack give the same bytes") {
    const TempFolder folder;
    folder.write("a.txt", "treadle");
    const std::string pack = folder.write("game.pack", "....treadle....");
    Source directory, memory, range;
    REQUIRE(directory.add_directory(folder.path()).ok());
    REQUIRE(memory.add_memory("a.txt", "treadle", 7).ok());
    REQUIRE(range.add_range("a.txt", pack, 4, 7).ok());
    for (const Source* source : {&directory, &memory, &range}) {
      CHECK(content(*source, "a.txt") == "treadle");
      const Result<SourceFile> file = source->open("a.txt");
      REQUIRE(file.ok());
      CHECK(file.value().bytes() == 7);
      char part[4] = {};
      CHECK(file.value().read(2, part, 3).ok());
      CHECK(std::string(part) == "ead");
      CHECK(file.value().read(7, part, 0).ok());
      for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{7, 1}, {8, 0}, {0, 8}, {UINT64_MAX, 2}, {2, UINT64_MAX}}) {
        const Status status = file.value().read(offset, part, bytes);
        CHECK(status.code() == Code::io);
        CHECK(contains(status, "'a.txt'"));
      }
      CHECK(std::string(part) == "ead");
      CHECK(open_code(*source, "b.txt") == Code::not_found);
    }
  }

  TEST_CASE("single files win over directories, and directories in the order they were added") {
    const TempFolder first, second;
    first.write("a", "first");
    second.write("a", "second");
    second.write("b", "only second");
    Source source;
    REQUIRE(source.add_directory(first.path()).ok());
    REQUIRE(source.add_directory(second.path()).ok());
    CHECK(content(source, "a") == "first");
    CHECK(content(source, "b") == "only second");
    REQUIRE(source.add_memory("a", "memory", 6).ok());
    CHECK(content(source, "a") == "memory");
  }

  TEST_CASE("empty files are files") {
    const TempFolder folder;
    const std::string pack = folder.write("pack", "x");
    folder.write("c", "");
    Source source;
    REQUIRE(source.add_memory("a", nullptr, 0).ok());
    REQUIRE(source.add_range("b", pack, 1, 0).ok());
    REQUIRE(source.add_directory(folder.path()).ok());
    for (const char* name : {"a", "b", "c"}) CHECK(content(source, name).empty());
  }

  TEST_CASE("refuses names that are not plain, when adding and when opening") {
    const TempFolder folder;
    folder.write("x", "x");
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    using std::string_view_literals::operator""sv;
    for (const std::string_view name :
         {""sv, "."sv, ".."sv, "../x"sv, "a/b"sv, "/x"sv, "x/"sv, "a\\b"sv, "x\0"sv, "\0"sv, "x\xFF"sv}) {
      CAPTURE(std::string(name));
      CHECK(source.add_memory(name, "x", 1).code() == Code::invalid_argument);
      CHECK(source.add_range(name, folder.file("x"), 0, 1).code() == Code::invalid_argument);
      CHECK(open_code(source, name) == Code::invalid_argument);
      CHECK(source.read_text(name, 10).status().code() == Code::invalid_argument);
    }
    CHECK(source.add_memory("...", "x", 1).ok());
    CHECK(source.add_memory("caf\xC3\xA9", "x", 1).ok());
  }

  TEST_CASE("refuses paths that are empty, hold NUL or are not UTF-8") {
    Source source;
    using std::string_view_literals::operator""sv;
    for (const std::string_view path : {""sv, "a\0b"sv, "a\xC0\xAF"sv}) {
      CHECK(source.add_directory(path).code() == Code::invalid_argument);
      CHECK(source.add_range("name", path, 0, 1).code() == Code::invalid_argument);
    }
    CHECK(open_code(source, "name") == Code::not_found);
  }

  TEST_CASE("the same name twice is a conflict and the first stays") {
    const TempFolder folder;
    const std::string pack = folder.write("pack", "range");
    Source source;
    REQUIRE(source.add_memory("a", "memory", 6).ok());
    CHECK(source.add_memory("a", "other!", 6).code() == Code::conflict);
    CHECK(source.add_range("a", pack, 0, 5).code() == Code::conflict);
    CHECK(content(source, "a") == "memory");
  }

  TEST_CASE("memory without data is refused") {
    Source source;
    CHECK(source.add_memory("a", nullptr, 1).code() == Code::invalid_argument);
    CHECK(open_code(source, "a") == Code::not_found);
  }

  TEST_CASE("a directory must be there and be one") {
    const TempFolder folder;
    const std::string file = folder.write("file", "x");
    Source source;
    CHECK(source.add_directory(folder.file("missing")).code() == Code::not_found);
    CHECK(source.add_directory(file).code() == Code::io);
    CHECK(source.add_directory(file + "/below").code() == Code::not_found);
  }

  TEST_CASE("a range must lie in its file, when it is added and when it is opened") {
    const TempFolder folder;
    const std::string pack = folder.write("pack", "0123456789");
    Source source;
    CHECK(source.add_range("a", pack, 0, 11).code() == Code::io);
    CHECK(source.add_range("a", pack, 11, 0).code() == Code::io);
    CHECK(source.add_range("a", pack, 10, 1).code() == Code::io);
    CHECK(source.add_range("a", pack, UINT64_MAX, 2).code() == Code::io);
    CHECK(source.add_range("a", pack, 2, UINT64_MAX).code() == Code::io);
    CHECK(source.add_range("a", folder.file("missing"), 0, 1).code() == Code::not_found);
    CHECK(source.add_range("a", folder.path(), 0, 0).code() == Code::io);
    REQUIRE(source.add_range("a", pack, 5, 5).ok());
    CHECK(content(source, "a") == "56789");
    std::filesystem::resize_file(pack, 9);
    CHECK(open_code(source, "a") == Code::io);
  }

  TEST_CASE("follows links, as in a model folder of the Hugging Face cache") {
    const TempFolder blobs, snapshot;
    blobs.write("0123abcd", "blob");
    std::filesystem::create_symlink(blobs.file("0123abcd"), snapshot.file("config.json"));
    std::filesystem::create_symlink(blobs.file("gone"), snapshot.file("dangling"));
    std::filesystem::create_symlink(snapshot.file("loop"), snapshot.file("loop"));
    std::filesystem::create_directory_symlink(snapshot.path(), blobs.file("link"));
    Source source;
    REQUIRE(source.add_directory(blobs.file("link")).ok());
    CHECK(content(source, "config.json") == "blob");
    CHECK(open_code(source, "dangling") == Code::not_found);
    CHECK(open_code(source, "loop") == Code::io);
  }

  TEST_CASE("a folder in place of a file is an io error, not a missing file") {
    const TempFolder folder, second;
    std::filesystem::create_directory(folder.file("a"));
    second.write("a", "x");
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    REQUIRE(source.add_directory(second.path()).ok());
    CHECK(open_code(source, "a") == Code::io);
  }

  TEST_CASE("a file that shrinks after it was opened is an io error that names it") {
    const TempFolder folder;
    const std::string path = folder.write("model", std::string(100, 'x'));
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    const Result<SourceFile> file = source.open("model");
    REQUIRE(file.ok());
    std::filesystem::resize_file(path, 50);
    char bytes[100];
    const Status status = file.value().read(0, bytes, 100);
    CHECK(status.code() == Code::io);
    CHECK(contains(status, "'model'"));
    CHECK(contains(status, "shorter"));
  }

  TEST_CASE("a text larger than asked for is refused") {
    Source source;
    REQUIRE(source.add_memory("a", "12345", 5).ok());
    CHECK(source.read_text("a", 5).ok());
    CHECK(source.read_text("a", 4).status().code() == Code::format);
  }

  TEST_CASE("failures of the system are reported and change nothing") {
    const TempFolder folder;
    const std::string pack = folder.write("a", "treadle");
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    using os::Site;
    using test::Fault;
    const auto add_range = [&] { return source.add_range("b", pack, 0, 1).code(); };
    CHECK((Fault(Site::stat_file), source.add_directory(folder.path()).code()) == Code::io);
    CHECK((Fault(Site::open_file), add_range()) == Code::io);
    CHECK((Fault(Site::stat_file), add_range()) == Code::io);
    CHECK(open_code(source, "b") == Code::not_found);
    CHECK((Fault(Site::open_file), open_code(source, "a")) == Code::io);
    {
      const Fault fault(Site::read_file);
      const Status status = source.read_text("a", 10).status();
      CHECK(status.code() == Code::io);
      CHECK(status.native_code() == EIO);
    }
    CHECK(content(source, "a") == "treadle");
    CHECK(source.add_range("b", pack, 0, 1).ok());
  }
}
