// struct_size: older and newer callers of every struct, and sizes that are none.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

// One function's struct: how to call it with a struct of any size at `s`, which holds good arguments.
struct Param {
  std::string name;
  uint32_t size;
  std::function<void(Rig&, void* s)> fill;  // good arguments; struct_size is set after
  std::function<tdl_status(Rig&, void* s, tdl_error*)> call;
};

void nothing(Rig&, void*) {}

void fill_config(Rig&, void* s) {
  static const std::string directory = golden_path("qwen3") + "/model";
  auto* config = static_cast<tdl_engine_config*>(s);
  config->model_path = directory.data();
  config->model_path_length = directory.size();
  config->num_threads = 1;
  config->max_seqs = 2;
  config->max_context = 64;
}

tdl_status create(Rig&, void* s, tdl_error* e) {
  tdl_engine* engine = nullptr;
  const tdl_status status = tdl_engine_create(static_cast<tdl_engine_config*>(s), &engine, e);
  CHECK((engine != nullptr) == (status == TDL_OK));
  tdl_engine_destroy(engine);
  return status;
}

tdl_status plan(Rig& r, void* s, tdl_error* e) {
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  fill_config(r, &config);
  return tdl_engine_plan(&config, static_cast<tdl_memory_plan*>(s), e);
}

tdl_status begin(Rig& r, void* s, tdl_error* e) {
  tdl_pass* pass = nullptr;
  const tdl_status status = tdl_pass_begin(r.engine.get(), static_cast<tdl_pass_desc*>(s), &pass, e);
  tdl_pass_end(pass);
  return status;
}

void fill_metadata(Rig& r, void* s) { std::memcpy(s, &r.in.m, sizeof r.in.m); }
tdl_status upload(Rig& r, void* s, tdl_error* e) { return tdl_upload_metadata(r.pass, static_cast<tdl_metadata*>(s), e); }
tdl_status upload_sampled(Rig& r, void* s, tdl_error* e) {
  r.in.m.sampling = static_cast<tdl_sampling*>(s);
  r.in.m.output_row = r.in.output_row;
  r.in.m.num_outputs = 1;
  return tdl_upload_metadata(r.pass, &r.in.m, e);
}
tdl_status step(Rig& r, void* s, tdl_error* e) {
  r.upload();
  return tdl_step(r.pass, static_cast<tdl_step_result*>(s), e);
}
tdl_status sample(Rig& r, void* s, tdl_error* e) {
  r.pass = r.silent.get();
  r.upload();
  r.submit();
  return tdl_sample(r.pass, static_cast<tdl_metadata*>(s), nullptr, e);
}

const std::vector<Param> kParams = {
    {"tdl_engine_config of tdl_engine_create", sizeof(tdl_engine_config), fill_config, create},
    {"tdl_memory_plan", sizeof(tdl_memory_plan), nothing, plan},
    {"tdl_engine_info", sizeof(tdl_engine_info), nothing,
     [](Rig& r, void* s, tdl_error* e) { return tdl_engine_get_info(r.engine.get(), static_cast<tdl_engine_info*>(s), e); }},
    {"tdl_engine_stats", sizeof(tdl_engine_stats), nothing,
     [](Rig& r, void* s, tdl_error* e) { return tdl_engine_get_stats(r.engine.get(), static_cast<tdl_engine_stats*>(s), e); }},
    {"tdl_pass_desc", sizeof(tdl_pass_desc), nothing, begin},
    {"tdl_metadata of tdl_upload_metadata", sizeof(tdl_metadata), fill_metadata, upload},
    {"tdl_metadata of tdl_pass_map", sizeof(tdl_metadata), nothing,
     [](Rig& r, void* s, tdl_error* e) { return tdl_pass_map(r.pass, static_cast<tdl_metadata*>(s), e); }},
    {"tdl_metadata of tdl_sample", sizeof(tdl_metadata), nothing, sample},
    {"tdl_sampling", sizeof(tdl_sampling), nothing, upload_sampled},
    {"tdl_step_result of tdl_step", sizeof(tdl_step_result), nothing, step},
    {"tdl_step_result of tdl_wait", sizeof(tdl_step_result), nothing,
     [](Rig& r, void* s, tdl_error* e) { return tdl_wait(r.engine.get(), r.ticket, UINT64_MAX, static_cast<tdl_step_result*>(s), e); }},
    {"tdl_metadata_view", sizeof(tdl_metadata_view), nothing,
     [](Rig& r, void* s, tdl_error* e) { return tdl_pass_get_view(r.prefill.get(), static_cast<tdl_metadata_view*>(s), e); }},
};

// A good struct of `size` bytes (struct_size says `claimed`), in memory that ends where it does: a byte more is the sanitizer's.
std::unique_ptr<unsigned char[]> make(const Param& p, Rig& rig, size_t size, uint32_t claimed) {
  std::vector<unsigned char> whole(std::max<size_t>(size, p.size) + 8);
  p.fill(rig, whole.data());
  std::unique_ptr<unsigned char[]> bytes(new unsigned char[size]);
  std::memcpy(bytes.get(), whole.data(), size);
  std::memcpy(bytes.get(), &claimed, std::min<size_t>(size, sizeof claimed));
  return bytes;
}

}  // namespace

TEST_CASE("refuses sizes that are none") {
  for (const Param& p : kParams) {
    CAPTURE(p.name);
    for (const uint32_t size : {0u, 2u, 3u, 65537u, UINT32_MAX}) {
      CAPTURE(size);
      Rig rig(TDL_KV_CALLER);
      const auto s = make(p, rig, p.size, size);
      Error error;
      CHECK(p.call(rig, s.get(), &error) == TDL_E_INVALID_ARGUMENT);
      CHECK(std::strstr(error.message, p.name.substr(0, p.name.find(' ')).c_str()) != nullptr);
      rig.in.m.sampling = nullptr;
      rig.check_works();
    }
  }
}

TEST_CASE("takes a newer caller's struct while its unknown fields are zero") {
  for (const Param& p : kParams) {
    CAPTURE(p.name);
    for (const uint32_t more : {1u, 4u, 24u, 4096u}) {
      Rig rig(TDL_KV_CALLER);
      const auto s = make(p, rig, p.size + more, p.size + more);
      std::memset(s.get() + p.size, 0, more);
      Error error;
      CHECK_MESSAGE(p.call(rig, s.get(), &error) == TDL_OK, error.message);
      CHECK(std::all_of(s.get() + p.size, s.get() + p.size + more, [](unsigned char byte) { return byte == 0; }));
      uint32_t size;
      std::memcpy(&size, s.get(), sizeof size);
      CHECK(size == p.size + more);
    }
    for (const uint32_t at : {0u, 23u}) {  // the first and the last unknown byte
      Rig rig(TDL_KV_CALLER);
      const auto s = make(p, rig, p.size + 24, p.size + 24);
      std::memset(s.get() + p.size, 0, 24);
      s[p.size + at] = 1;
      const std::vector<unsigned char> before(s.get(), s.get() + p.size + 24);
      Error error;
      CHECK(p.call(rig, s.get(), &error) == TDL_E_VERSION);
      CHECK(std::equal(before.begin(), before.end(), s.get()));
      rig.in.m.sampling = nullptr;
      rig.check_works();
    }
  }
}

TEST_CASE("takes an older caller's struct and touches no byte past its end") {
  for (const Param& p : kParams) {
    CAPTURE(p.name);
    for (uint32_t size = 4; size < p.size; size += p.size > 200 ? 20 : 4) {
      CAPTURE(size);
      Rig rig(TDL_KV_CALLER);
      const auto s = make(p, rig, size, size);
      Error error;
      const tdl_status status = p.call(rig, s.get(), &error);
      // What is missing counts as zero: a configuration without a model and metadata without rows are refused for that.
      CHECK_MESSAGE((status == TDL_OK || status == TDL_E_INVALID_ARGUMENT || status == TDL_E_RANGE), error.message);
      uint32_t now;
      std::memcpy(&now, s.get(), sizeof now);
      CHECK(now == size);
      rig.in.m.sampling = nullptr;
      rig.check_works();
    }
  }
  Rig rig(TDL_KV_CALLER);
  const auto cut = static_cast<uint32_t>(offsetof(tdl_metadata, output_row));
  rig.in.m.struct_size = cut;  // all that a decode needs lies before
  rig.upload();
  rig.use(tdl_step(rig.pass, &rig.out.result, nullptr));
  CHECK(rig.out.result.num_outputs == 2);
}

TEST_CASE("writes as much of an error as the caller has room for") {
  Rig rig(TDL_KV_CALLER);
  const auto fails = [&rig](tdl_error* error) { return tdl_kv_alloc(rig.engine.get(), rig.out.blocks, 1, error); };
  for (uint32_t size = 4; size <= sizeof(tdl_error) + 8; size += 4) {
    std::unique_ptr<unsigned char[]> bytes(new unsigned char[size]);
    std::memset(bytes.get(), 0xA5, size);
    std::memcpy(bytes.get(), &size, sizeof size);
    CHECK(fails(reinterpret_cast<tdl_error*>(bytes.get())) == TDL_E_STATE);
    uint32_t now;
    std::memcpy(&now, bytes.get(), sizeof now);
    CHECK(now == size);
    int32_t status = TDL_E_STATE;
    if (size >= 8) std::memcpy(&status, bytes.get() + 4, sizeof status);
    CHECK(status == TDL_E_STATE);
  }
  for (const uint32_t size : {0u, 2u, 65537u}) {  // never initialised: left alone
    tdl_error error;
    std::memset(&error, 0xA5, sizeof error);
    error.struct_size = size;
    CHECK(fails(&error) == TDL_E_STATE);
    CHECK(error.status == static_cast<tdl_status>(0xA5A5A5A5));
  }
  Error error;
  error.row = 77;
  CHECK(tdl_kv_copy(rig.engine.get(), nullptr, nullptr, 0, &error) == TDL_OK);
  CHECK(error.row == 77);  // written on failure alone
}

TEST_CASE("initialises any size that can be one, and no other") {
  unsigned char bytes[16];
  for (const size_t size : {size_t{4}, size_t{8}, size_t{13}}) {
    std::memset(bytes, 0xA5, sizeof bytes);
    tdl_metadata_init(reinterpret_cast<tdl_metadata*>(bytes), size);
    uint32_t now;
    std::memcpy(&now, bytes, sizeof now);
    CHECK(now == size);
    for (size_t i = 4; i < sizeof bytes; ++i) CHECK(bytes[i] == (i < size ? 0 : 0xA5));
  }
  for (const size_t size : {size_t{0}, size_t{3}, size_t{65537}, SIZE_MAX}) {
    std::memset(bytes, 0xA5, sizeof bytes);
    tdl_metadata_init(reinterpret_cast<tdl_metadata*>(bytes), size);
    for (const unsigned char byte : bytes) CHECK(byte == 0xA5);
  }
  tdl_metadata_init(nullptr, sizeof(tdl_metadata));
}
