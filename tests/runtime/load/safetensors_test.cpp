#include "runtime/load/safetensors.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/fault.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

using namespace tdl;
using tdl::test::safetensors_bytes;
using tdl::test::safetensors_file;

namespace {

// Files in memory, as a source.
struct Files {
  Files& add(const std::string& name, const std::string& bytes) {
    const std::string& kept = contents[name] = bytes;
    REQUIRE(source.add_memory(name, kept.data(), kept.size()).ok());
    return *this;
  }
  Status status(const char* stem = "model") const { return Checkpoint::open(source, stem).status(); }
  std::map<std::string, std::string> contents;
  Source source;
};

std::string index_of(const std::string& weight_map) { return R"({"metadata":{"total_size":9},"weight_map":)" + weight_map + "}"; }

Files two_shards(const std::string& weight_map) {
  Files files;
  files.add("one.safetensors", safetensors_file({{"a", "AAAA"}, {"c", "CC"}}));
  files.add("two.safetensors", safetensors_file({{"b", "B"}}));
  files.add("model.safetensors.index.json", index_of(weight_map));
  return files;
}

void refused(const Status& status, Code code, const char* part) {
  CAPTURE(std::string(status.message()));
  CHECK(status.code() == code);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
}

std::string bytes_of(const Checkpoint& checkpoint, const char* name) {
  const TensorInfo* tensor = checkpoint.find(name);
  if (!tensor) return "!missing";
  std::string bytes(tensor->bytes, '\0');
  return checkpoint.read(*tensor, 0, bytes.data(), bytes.size()).ok() ? bytes : "!unread";
}

const char* const kGoodMap = R"({"c":"one.safetensors","a":"one.safetensors","b":"two.safetensors"})";

}  // namespace

TEST_SUITE("safetensors") {
  TEST_CASE("reads a single file and finds its tensors") {
    Files files;
    files.add("model.safetensors", safetensors_file({{"b", "BBB"}, {"a", "A"}, {"empty", ""}}));
    const Result<Checkpoint> checkpoint = Checkpoint::open(files.source, "model");
    REQUIRE(checkpoint.ok());
    CHECK(checkpoint.value().tensors().size() == 3);
    CHECK(checkpoint.value().tensors()[0].name == "a");
    CHECK(bytes_of(checkpoint.value(), "a") == "A");
    CHECK(bytes_of(checkpoint.value(), "b") == "BBB");
    CHECK(bytes_of(checkpoint.value(), "empty").empty());
    CHECK(checkpoint.value().find("c") == nullptr);
    CHECK(checkpoint.value().find("") == nullptr);
  }

  TEST_CASE("every kind of source gives the same tensors") {
    const std::string bytes = safetensors_file({{"a", "AAAA"}, {"b", "B"}});
    const test::TempFolder folder;
    folder.write("model.safetensors", bytes);
    const std::string pack = folder.write("pack", "12345" + bytes + "tail");
    Source directory, memory, range;
    REQUIRE(directory.add_directory(folder.path()).ok());
    REQUIRE(memory.add_memory("model.safetensors", bytes.data(), bytes.size()).ok());
    REQUIRE(range.add_range("model.safetensors", pack, 5, bytes.size()).ok());
    for (const Source* source : {&directory, &memory, &range}) {
      const Result<Checkpoint> checkpoint = Checkpoint::open(*source, "model");
      REQUIRE(checkpoint.ok());
      CHECK(bytes_of(checkpoint.value(), "a") == "AAAA");
      CHECK(bytes_of(checkpoint.value(), "b") == "B");
    }
  }

  TEST_CASE("reads the shards that an index names, in any mixture of sources") {
    const test::TempFolder folder;
    folder.write("two.safetensors", safetensors_file({{"b", "B"}}));
    folder.write("model.safetensors.index.json", index_of(kGoodMap));
    Files files;
    files.add("one.safetensors", safetensors_file({{"a", "AAAA"}, {"c", "CC"}}));
    REQUIRE(files.source.add_directory(folder.path()).ok());
    const Result<Checkpoint> checkpoint = Checkpoint::open(files.source, "model");
    REQUIRE(checkpoint.ok());
    CHECK(checkpoint.value().tensors().size() == 3);
    CHECK(bytes_of(checkpoint.value(), "a") == "AAAA");
    CHECK(bytes_of(checkpoint.value(), "b") == "B");
    CHECK(bytes_of(checkpoint.value(), "c") == "CC");
  }

  TEST_CASE("the stem names the files") {
    Files files;
    files.add("adapter_model.safetensors", safetensors_file({{"a", "A"}}));
    CHECK(files.status("adapter_model").ok());
    refused(files.status("model"), Code::not_found, "neither 'model.safetensors' nor 'model.safetensors.index.json'");
  }

  TEST_CASE("beside a single file the index is not read") {
    Files files;
    files.add("model.safetensors", safetensors_file({{"a", "A"}}));
    files.add("model.safetensors.index.json", "not JSON");
    CHECK(files.status().ok());
  }

  TEST_CASE("a single file that is broken is not passed over for an index") {
    Files files = two_shards(kGoodMap);
    CHECK(files.status().ok());
    files.add("model.safetensors", "short");
    refused(files.status(), Code::format, "'model.safetensors'");
  }

  TEST_CASE("refuses an index without a sound weight_map") {
    for (const char* index : {"[]", "{}", R"({"weight_map":{}})", R"({"weight_map":[]})", R"({"weight_map":null})", "{"}) {
      Files files;
      files.add("model.safetensors.index.json", index);
      refused(files.status(), Code::format, "'model.safetensors.index.json'");
    }
    refused(two_shards(R"({"a":1})").status(), Code::format, "'a'");
    refused(two_shards(R"({"a":"one.safetensors","a":"two.safetensors"})").status(), Code::format, "twice");
  }

  TEST_CASE("refuses shard names that are not plain") {
    for (const char* name :
         {"../one.safetensors", "/one.safetensors", "sub/one.safetensors", "..", ".", "", "one\\\\two", "one\\u0000"})
      refused(two_shards(std::string(R"({"a":")") + name + "\"}").status(), Code::format, "not a plain file name");
  }

  TEST_CASE("a missing shard is not found, and named") {
    refused(two_shards(R"({"a":"one.safetensors","c":"one.safetensors","b":"three.safetensors"})").status(), Code::not_found,
            "'three.safetensors'");
  }

  TEST_CASE("refuses an index and shards that disagree") {
    refused(two_shards(R"({"a":"one.safetensors","b":"two.safetensors"})").status(), Code::format,
            "'c' is in shard 'one.safetensors'");
    refused(two_shards(R"({"a":"two.safetensors","c":"one.safetensors","b":"two.safetensors"})").status(), Code::format, "'a'");
    for (const char* extra : {"0", "aa", "zz"})
      refused(two_shards(std::string(R"({"c":"one.safetensors","a":"one.safetensors","b":"two.safetensors",")") + extra +
                         R"(":"two.safetensors"})")
                  .status(),
              Code::format, ("tensor '" + std::string(extra) + "' is not in its shard 'two.safetensors'").c_str());
  }

  TEST_CASE("refuses a tensor that is in two shards") {
    for (const char* owner : {"one.safetensors", "two.safetensors"}) {
      Files files;
      files.add("one.safetensors", safetensors_file({{"a", "A"}, {"x", "X"}}));
      files.add("two.safetensors", safetensors_file({{"a", "A"}, {"y", "Y"}}));
      files.add("model.safetensors.index.json",
                index_of(std::string(R"({"x":"one.safetensors","y":"two.safetensors","a":")") + owner + "\"}"));
      refused(files.status(), Code::format, "tensor 'a' is in shard");
    }
  }

  TEST_CASE("refuses more shards than it would keep open") {
    std::string map = "{";
    for (int i = 0; i < 1025; ++i) map += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::to_string(i) + ".safetensors\"";
    Files files;
    files.add("model.safetensors.index.json", index_of(map + "}"));
    refused(files.status(), Code::unsupported, "1025 shards");
  }

  TEST_CASE("take checks name, shape, type and that it happens once") {
    Files files;
    files.add("model.safetensors", safetensors_bytes(R"({"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
        "ids":{"dtype":"I64","shape":[1],"data_offsets":[12,20]},"scalar":{"dtype":"F32","shape":[],"data_offsets":[20,24]}})",
                                                     std::string(24, 'd')));
    Result<Checkpoint> opened = Checkpoint::open(files.source, "model");
    REQUIRE(opened.ok());
    Checkpoint& checkpoint = opened.value();
    refused(checkpoint.take("v", {2, 3}).status(), Code::not_found, "'v'");
    refused(checkpoint.take("w", {3, 2}).status(), Code::format, "tensor 'w' has shape [2, 3], not [3, 2]");
    refused(checkpoint.take("w", {6}).status(), Code::format, "[2, 3], not [6]");
    refused(checkpoint.take("w", {}).status(), Code::format, "not []");
    refused(checkpoint.take("ids", {1}).status(), Code::unsupported, "I64");
    refused(checkpoint.check_all_taken(nullptr), Code::format, "'ids'");
    const Result<const TensorInfo*> w = checkpoint.take("w", {2, 3});
    REQUIRE(w.ok());
    CHECK(w.value()->dtype == DType::bf16);
    refused(checkpoint.take("w", {2, 3}).status(), Code::format, "twice");
    CHECK(checkpoint.take("scalar", {}).ok());
    refused(checkpoint.check_all_taken(nullptr), Code::format, "no use for tensor 'ids'");
    CHECK(checkpoint.check_all_taken([](std::string_view name) { return name == "ids"; }).ok());
  }

  TEST_CASE("reads parts of a tensor and nothing beside it") {
    Files files;
    files.add("model.safetensors", safetensors_file({{"a", "0123456789"}, {"b", "secret"}}));
    const Result<Checkpoint> checkpoint = Checkpoint::open(files.source, "model");
    REQUIRE(checkpoint.ok());
    const TensorInfo& a = *checkpoint.value().find("a");
    char part[4] = {};
    CHECK(checkpoint.value().read(a, 7, part, 3).ok());
    CHECK(std::string(part) == "789");
    CHECK(checkpoint.value().read(a, 10, part, 0).ok());
    for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{8, 3}, {11, 0}, {0, 11}, {UINT64_MAX, 2}, {1, UINT64_MAX}})
      CHECK(checkpoint.value().read(a, offset, part, bytes).code() == Code::range);
  }

  TEST_CASE("equal compares type, shape and every byte") {
    std::string large(3u << 20, 'x'), other = large;
    other.back() = 'y';
    const uint64_t end = large.size();
    Files files;
    const auto entry = [](const char* name, const char* dtype, uint64_t elements, uint64_t begin, uint64_t bytes) {
      return std::string("\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(elements) +
             R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(begin + bytes) + "]}";
    };
    files.add(
        "model.safetensors",
        safetensors_bytes(std::string("{") + entry("a", "BF16", end / 2, 0, end) + "," + entry("b", "BF16", end / 2, end, end) + "," +
                              entry("c", "BF16", end / 2, 2 * end, end) + "," + entry("d", "F16", end / 2, 3 * end, end) + "}",
                          large + large + other + large));
    const Result<Checkpoint> opened = Checkpoint::open(files.source, "model");
    REQUIRE(opened.ok());
    const Checkpoint& checkpoint = opened.value();
    const auto equal = [&](const char* a, const char* b) { return checkpoint.equal(*checkpoint.find(a), *checkpoint.find(b)); };
    CHECK(equal("a", "b").value());
    CHECK_FALSE(equal("a", "c").value());
    CHECK_FALSE(equal("a", "d").value());
  }

  TEST_CASE("failures of the system at every call are reported, and the next try works") {
    const test::TempFolder folder;
    folder.write("one.safetensors", safetensors_file({{"a", "AAAA"}, {"c", "CC"}}));
    folder.write("two.safetensors", safetensors_file({{"b", "B"}}));
    folder.write("model.safetensors.index.json", index_of(kGoodMap));
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    for (const os::Site site : {os::Site::open_file, os::Site::stat_file, os::Site::read_file}) {
      int32_t failures = 0;
      for (int32_t call = 0; call < 20; ++call) {
        const test::Fault fault(site, call);
        const Status status = Checkpoint::open(source, "model").status();
        CHECK(status.code() == (fault.hits() ? Code::io : Code::ok));
        failures += fault.hits();
      }
      CHECK(failures >= 3);
      CHECK(Checkpoint::open(source, "model").ok());
    }
  }

  TEST_CASE("a shard that shrinks while its tensors are read is an io error") {
    const test::TempFolder folder;
    const std::string path = folder.write("model.safetensors", safetensors_file({{"a", "0123456789"}}));
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    const Result<Checkpoint> checkpoint = Checkpoint::open(source, "model");
    REQUIRE(checkpoint.ok());
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
    char bytes[10];
    refused(checkpoint.value().read(*checkpoint.value().find("a"), 0, bytes, 10), Code::io, "'model.safetensors'");
  }

  TEST_CASE("many tensors take time in proportion") {
    constexpr int kTensors = 200000;
    std::string header = "{";
    for (int i = 0; i < kTensors; ++i)
      header += (i ? ",\"layers." : "\"layers.") + std::to_string(i * 7919LL % kTensors) +
                R"(.w":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]})";
    Files files;
    files.add("model.safetensors", safetensors_bytes(header + "}", ""));
    const auto start = std::chrono::steady_clock::now();
    Result<Checkpoint> checkpoint = Checkpoint::open(files.source, "model");
    REQUIRE(checkpoint.ok());
    for (int i = 0; i < kTensors; ++i) REQUIRE(checkpoint.value().take("layers." + std::to_string(i) + ".w", {0, 4}).ok());
    CHECK(checkpoint.value().check_all_taken(nullptr).ok());
    // A second or so, under the sanitizers too; in proportion to the square it would be hours.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  }
}
