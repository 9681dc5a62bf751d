#include "tests/capi/whole_life.h"

#include <algorithm>

namespace tdl::test {
namespace {

constexpr uint32_t kVocab = 192, kRows = 20, kBlock = 16, kTable = 4;

// What a life goes through, in fixed memory.
class Course {
 public:
  explicit Course(const LifePlan& plan) : plan_(plan) {}
  ~Course() {
    tdl_pass_end(prefill_);
    tdl_pass_end(decode_);
    tdl_engine_destroy(engine_);
    tdl_source_destroy(source_);
  }

  Life run() {
    if (open() && fill() && chain() && share()) look();
    return life_;
  }

 private:
  // Calls until it succeeds, at most twice.
  template <class Call>
  bool again(const char* where, const Call& call) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      tdl_error error;
      tdl_error_init(&error, sizeof error);
      const tdl_status status = call(&error);
      if (status == TDL_OK) return true;
      if (life_.failures++ == 0) {
        life_.failure = status;
        life_.where = where;
      }
      life_.consistent = life_.consistent && error.status == status && error.message[0] != '\0';
    }
    life_.stuck = where;
    return false;
  }

  bool open() {
    const std::string& directory = *plan_.directory;
    tdl_engine_config config;
    tdl_engine_config_init(&config, sizeof config);
    config.device = "cpu";
    config.device_length = 3;
    config.num_threads = 2;
    config.max_seqs = 2;
    config.max_rows_per_seq = 2;
    config.max_prefill_rows = 32;
    config.max_context = kTable * kBlock;
    config.block_size = kBlock;
    config.kv_mode = TDL_KV_POOL;
    config.graph_mode = plan_.graph_mode;
    config.log = plan_.log;
    config.log_user = plan_.log_user;
    tdl_memory_plan memory;
    tdl_memory_plan_init(&memory, sizeof memory);
    const auto untouched = [this](const void* handle, tdl_status status) { life_.consistent = life_.consistent && (status == TDL_OK) == (handle != nullptr); };
    if (!again("tdl_source_create", [&](tdl_error* e) {
          const tdl_status status = tdl_source_create(&source_, e);
          untouched(source_, status);
          return status;
        }))
      return false;
    config.model_source = source_;
    return again("tdl_source_add_memory", [&](tdl_error* e) { return tdl_source_add_memory(source_, "notes", 5, "abc", 3, e); }) &&
           again("tdl_source_add_directory", [&](tdl_error* e) { return tdl_source_add_directory(source_, directory.data(), directory.size(), e); }) &&
           again("tdl_engine_plan", [&](tdl_error* e) { return tdl_engine_plan(&config, &memory, e); }) &&
           again("tdl_engine_create", [&](tdl_error* e) {
             const tdl_status status = tdl_engine_create(&config, &engine_, e);
             untouched(engine_, status);
             return status;
           }) &&
           begin("tdl_pass_begin prefill", TDL_PASS_PREFILL, 1, &prefill_) && begin("tdl_pass_begin decode", TDL_PASS_DECODE, 2, &decode_);
  }

  bool begin(const char* where, int32_t kind, uint32_t num_seqs, tdl_pass** pass) {
    tdl_pass_desc desc;
    tdl_pass_desc_init(&desc, sizeof desc);
    desc.kind = kind;
    desc.num_seqs = num_seqs;
    return again(where, [&](tdl_error* e) {
      const tdl_status status = tdl_pass_begin(engine_, &desc, pass, e);
      life_.consistent = life_.consistent && (status == TDL_OK) == (*pass != nullptr);
      return status;
    });
  }

  // `rows` rows of a sequence over blocks_, up to length_.
  tdl_metadata metadata(uint32_t rows) {
    tdl_metadata m;
    tdl_metadata_init(&m, sizeof m);
    for (uint32_t i = 0; i < rows; ++i) {
      tokens_[i] = (i * 7 + length_) % kVocab;
      positions_[i] = length_ - rows + i;
    }
    m.num_rows = rows;
    m.num_seqs = 1;
    m.max_blocks_per_seq = kTable;
    m.token_ids = tokens_;
    m.positions = positions_;
    m.seq_len = &length_;
    m.block_table = blocks_;
    return m;
  }

  tdl_step_result results() {
    tdl_step_result result;
    tdl_step_result_init(&result, sizeof result);
    result.capacity = 2;
    result.row_status = row_status_;
    result.tokens = sampled_;
    result.logits = logits_;
    return result;
  }

  void count_bits() {
    const auto* bytes = reinterpret_cast<const unsigned char*>(logits_);
    for (size_t i = 0; i < sizeof(float) * kVocab; ++i) life_.bits = (life_.bits ^ bytes[i]) * 0x100000001B3u;
  }

  // Upload, submit, wait.
  bool fill() {
    if (!again("tdl_kv_alloc", [&](tdl_error* e) { return tdl_kv_alloc(engine_, blocks_, kTable, e); })) return false;
    length_ = kRows;
    const tdl_metadata m = metadata(kRows);
    tdl_step_result result = results();
    uint64_t ticket = 0;
    if (!again("tdl_upload_metadata", [&](tdl_error* e) { return tdl_upload_metadata(prefill_, &m, e); }) ||
        !again("tdl_submit", [&](tdl_error* e) { return tdl_submit(prefill_, &ticket, e); }) ||
        !again("tdl_wait", [&](tdl_error* e) { return tdl_wait(engine_, ticket, UINT64_MAX, &result, e); }))
      return false;
    count_bits();
    return true;
  }

  // A mapped upload and a step, a few times.
  bool chain() {
    for (int step = 0; step < 3; ++step) {
      ++length_;
      tdl_metadata m;
      tdl_metadata_init(&m, sizeof m);
      tdl_step_result result = results();
      if (!again("tdl_pass_map", [&](tdl_error* e) { return tdl_pass_map(decode_, &m, e); })) return false;
      const tdl_metadata own = metadata(1);
      *const_cast<uint32_t*>(m.token_ids) = own.token_ids[0];
      *const_cast<uint32_t*>(m.positions) = own.positions[0];
      *const_cast<uint32_t*>(m.seq_len) = length_;
      std::copy_n(blocks_, kTable, const_cast<int32_t*>(m.block_table));
      m.num_rows = m.num_seqs = 1;
      m.token_from = m.output_row = nullptr;
      m.slot = nullptr;
      if (!again("tdl_upload_metadata mapped", [&](tdl_error* e) { return tdl_upload_metadata(decode_, &m, e); }) ||
          !again("tdl_step", [&](tdl_error* e) { return tdl_step(decode_, &result, e); }))
        return false;
      count_bits();
    }
    return true;
  }

  // Retain, copy, release, and the same once more over the copies.
  bool share() {
    int32_t copies[kTable];
    return again("tdl_kv_alloc copies", [&](tdl_error* e) { return tdl_kv_alloc(engine_, copies, kTable, e); }) &&
           again("tdl_kv_retain", [&](tdl_error* e) { return tdl_kv_retain(engine_, blocks_, kTable, e); }) &&
           again("tdl_kv_copy", [&](tdl_error* e) { return tdl_kv_copy(engine_, blocks_, copies, kTable, e); }) &&
           again("tdl_kv_release", [&](tdl_error* e) { return tdl_kv_release(engine_, blocks_, kTable, e); }) &&
           (std::copy_n(copies, kTable, blocks_), chain());
  }

  bool look() {
    tdl_engine_stats stats;
    tdl_engine_stats_init(&stats, sizeof stats);
    tdl_engine_info info;
    tdl_engine_info_init(&info, sizeof info);
    tdl_metadata_view view;
    tdl_metadata_view_init(&view, sizeof view);
    const bool seen = again("tdl_engine_get_stats", [&](tdl_error* e) { return tdl_engine_get_stats(engine_, &stats, e); }) &&
                      again("tdl_engine_get_info", [&](tdl_error* e) { return tdl_engine_get_info(engine_, &info, e); }) &&
                      again("tdl_pass_get_view", [&](tdl_error* e) { return tdl_pass_get_view(decode_, &view, e); });
    life_.graph_failures = stats.graph_failures;
    return seen;
  }

  const LifePlan plan_;
  Life life_;
  tdl_source* source_ = nullptr;
  tdl_engine* engine_ = nullptr;
  tdl_pass *prefill_ = nullptr, *decode_ = nullptr;
  int32_t blocks_[kTable] = {};
  uint32_t length_ = 0, tokens_[kRows] = {}, positions_[kRows] = {}, sampled_[2] = {};
  tdl_status row_status_[2] = {};
  float logits_[2 * kVocab] = {};
};

}  // namespace

Life live(const LifePlan& plan) { return Course(plan).run(); }

}  // namespace tdl::test
