// A model from memory, from ranges of a pack file, and from a mixture gives the bits that its directory gives.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/host.h"
#include "tests/support/temp_folder.h"

namespace {

using namespace tdl::test;
namespace fs = std::filesystem;

std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  REQUIRE(files.count("config.json") == 1);
  return files;
}

SourceHandle empty_source() {
  tdl_source* source = nullptr;
  REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
  return SourceHandle(source);
}

void add_memory(tdl_source* source, const std::string& name, const std::string& bytes) {
  Error error;
  REQUIRE_MESSAGE(tdl_source_add_memory(source, name.data(), name.size(), bytes.data(), bytes.size(), &error) == TDL_OK, error.message);
}

// The files one after the other, each at an odd place.
struct Pack {
  TempFolder folder;
  std::string path;
  std::map<std::string, std::pair<uint64_t, uint64_t>> ranges;

  explicit Pack(const std::map<std::string, std::string>& files) {
    std::string bytes = "not a model";
    for (const auto& [name, content] : files) {
      ranges[name] = {bytes.size(), content.size()};
      bytes += content + "???";
    }
    folder.write("game.pak", bytes);
    path = folder.path() + "/game.pak";
  }
  void add(tdl_source* source, const std::string& name) const {
    Error error;
    const auto [offset, count] = ranges.at(name);
    REQUIRE_MESSAGE(tdl_source_add_range(source, name.data(), name.size(), path.data(), path.size(), offset, count, &error) == TDL_OK, error.message);
  }
};

// Logits of a prefill and a decode.
std::vector<float> logits_of(tdl_engine* engine) {
  PassHandle prefill = begin_pass(engine, TDL_PASS_PREFILL, 1), decode = begin_pass(engine, TDL_PASS_DECODE, 1);
  Sequence sequence{{2, 0, 1}, 0};
  std::vector<float> logits = run(engine, prefill.get(), {{&sequence, {3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84, 62, 64, 33}, {}}}, true).logits;
  const std::vector<float> more = run(engine, decode.get(), {{&sequence, {38}, {}}}, false).logits;
  logits.insert(logits.end(), more.begin(), more.end());
  return logits;
}

std::vector<float> logits_of(const tdl_source* source) {
  const EngineHandle engine = make_engine("", [&](tdl_engine_config& config) {
    config.model_path = nullptr;
    config.model_path_length = 0;
    config.model_source = source;
    config.max_seqs = 2;
    config.max_context = 64;
    config.block_size = 16;
    config.max_outputs = 32;
  });
  return logits_of(engine.get());
}

}  // namespace

TEST_CASE("a model in memory, in a pack file and in a mixture of both gives the bits of its directory") {
  for (const char* family : {"qwen3", "qwen3-yarn-sharded", "llama-linear-hd96-f16"}) {
    CAPTURE(family);
    const std::string directory = golden_path(family) + "/model";
    const auto files = files_of(directory);
    const Pack pack(files);
    const EngineHandle engine = make_engine(directory, [](tdl_engine_config& config) {
      config.max_seqs = 2;
      config.max_context = 64;
      config.block_size = 16;
    config.max_outputs = 32;
    });
    const std::vector<float> expected = logits_of(engine.get());
    REQUIRE(!expected.empty());
    const SourceHandle memory = empty_source(), packed = empty_source(), mixed = empty_source();
    bool turn = false;
    for (const auto& [name, bytes] : files) {
      add_memory(memory.get(), name, bytes);
      pack.add(packed.get(), name);
      if ((turn = !turn)) add_memory(mixed.get(), name, bytes);
      else pack.add(mixed.get(), name);
    }
    for (const tdl_source* source : {memory.get(), packed.get(), mixed.get()}) {
      const std::vector<float> actual = logits_of(source);
      REQUIRE(actual.size() == expected.size());
      CHECK(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    }
  }
}
