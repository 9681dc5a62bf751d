// What the whole-model benchmarks share: an engine with random weights over a config.json, sequences of blocks, passes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "treadle/treadle.h"

namespace tdl::bench {

double seconds();  // monotonic

// Ends the program with the error's words unless status is TDL_OK.
void need(tdl_status status, const tdl_error& error, const char* what);

struct Options {
  std::string model, device = "auto";
  uint32_t threads = 1, context = 512, steps = 64;
  std::vector<uint32_t> batches;   // sequences of a decode
  std::vector<uint32_t> lengths;   // tokens of a prefill
  uint32_t chunk = 0;              // rows of one prefill pass; 0 = the whole length
};
// MODEL_DIRECTORY [--device D] [--threads N] [--batch N,N] [--context N] [--steps N] [--length N,N] [--chunk N]; ends the program on others.
Options read_options(int argc, char** argv);

// Bytes of weights that a pass reads: all but the embedding, unless the head is tied to it.
struct Shape {
  uint64_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
  uint64_t streamed_parameters() const {
    return layers * ((heads + 2 * kv_heads) * head_dim * hidden + heads * head_dim * hidden + 3 * intermediate * hidden) + vocab * hidden;
  }
  uint64_t kv_bytes_per_token(uint64_t element) const { return layers * 2 * kv_heads * head_dim * element; }
};
Shape read_shape(const std::string& model);

struct Engine {
  tdl_engine* engine = nullptr;
  tdl_memory_plan plan;
  uint32_t block_size = 64, blocks_each = 0;
  double create_seconds = 0;

  // For `seqs` sequences of up to `context` tokens and prefill passes of up to `rows` rows.
  Engine(const Options& options, uint32_t seqs, uint32_t context, uint32_t rows);
  ~Engine() { tdl_engine_destroy(engine); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  tdl_pass* begin(int32_t kind, uint32_t seqs) const;
  // The block tables of the first `seqs` sequences.
  std::vector<int32_t> tables(uint32_t seqs) const;
};

}  // namespace tdl::bench
