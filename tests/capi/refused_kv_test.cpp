// Refused KV calls and passes over the engine's limits.
#include <doctest/doctest.h>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

using Blocks = std::vector<int32_t>;

CallOn alloc(uint32_t count) {
  return [=](Rig& r, tdl_error* e) { return tdl_kv_alloc(r.engine.get(), r.out.blocks, count, e); };
}
CallOn retain(Blocks blocks) {
  return [=](Rig& r, tdl_error* e) { return tdl_kv_retain(r.engine.get(), blocks.data(), static_cast<uint32_t>(blocks.size()), e); };
}
CallOn release(Blocks blocks) {
  return [=](Rig& r, tdl_error* e) { return tdl_kv_release(r.engine.get(), blocks.data(), static_cast<uint32_t>(blocks.size()), e); };
}
CallOn copy(Blocks from, Blocks to) {
  return [=](Rig& r, tdl_error* e) { return tdl_kv_copy(r.engine.get(), from.data(), to.data(), static_cast<uint32_t>(from.size()), e); };
}
Change share(int32_t block) {
  return [=](Rig& r) { r.use(tdl_kv_retain(r.engine.get(), &block, 1, nullptr)), r.serves = false; };
}

CallOn begin(int32_t kind, uint32_t num_seqs, uint32_t rows_per_seq, uint32_t max_rows) {
  return [=](Rig& r, tdl_error* e) {
    tdl_pass_desc desc;
    tdl_pass_desc_init(&desc, sizeof desc);
    desc.kind = kind;
    desc.num_seqs = num_seqs;
    desc.rows_per_seq = rows_per_seq;
    desc.max_rows = max_rows;
    return tdl_pass_begin(r.engine.get(), &desc, &r.out.pass, e);
  };
}

}  // namespace

TEST_CASE("refuses KV calls over blocks that are not there, free or shared") {
  check_refused({
      {"more blocks than are free", nullptr, alloc(5), TDL_E_OUT_OF_MEMORY, -1, -1, 1},
      {"more blocks than there are", nullptr, alloc(UINT32_MAX), TDL_E_OUT_OF_MEMORY, -1, -1, UINT32_MAX - 4u},
      {"retain past the last", nullptr, retain({0, 12}), TDL_E_RANGE, 1},
      {"retain below 0", nullptr, retain({-1}), TDL_E_RANGE, 0},
      {"retain of a free block", nullptr, retain({1, 2, 8}), TDL_E_CONFLICT, 2},
      {"release past the last", nullptr, release({0, 1, 12}), TDL_E_RANGE, 2},
      {"release of a free block", nullptr, release({0, 8}), TDL_E_CONFLICT, 1},
      {"release twice in one call", nullptr, release({1, 0, 1}), TDL_E_CONFLICT, 2},
      {"release of all and one again", nullptr, release({0, 1, 2, 3, 4, 5, 6, 7, 3}), TDL_E_CONFLICT, 8},
      {"release once more than retained", share(5), release({5, 5, 5}), TDL_E_CONFLICT, 2},
      {"copy from past the last", nullptr, copy({12}, {0}), TDL_E_RANGE, 0},
      {"copy to below 0", nullptr, copy({0, 1}, {2, -1}), TDL_E_RANGE, 1},
      {"copy from a free block", nullptr, copy({0, 9}, {1, 2}), TDL_E_CONFLICT, 1},
      {"copy to a free block", nullptr, copy({0}, {9}), TDL_E_CONFLICT, 0},
      {"copy to a shared block", share(5), copy({0}, {5}), TDL_E_CONFLICT, 0},
      {"copy to one block twice", nullptr, copy({0, 1}, {4, 4}), TDL_E_CONFLICT, 1},
      {"copy onto itself", nullptr, copy({4}, {4}), TDL_E_CONFLICT, 0},
      {"copy in a chain", nullptr, copy({4, 6}, {6, 1}), TDL_E_CONFLICT, 1},
      {"copy in a chain the other way", nullptr, copy({6, 4}, {1, 6}), TDL_E_CONFLICT, 0},
  }, TDL_KV_POOL);
}

TEST_CASE("refuses to count blocks that the caller numbers, and copies among them all the same") {
  check_refused({
      {"alloc", nullptr, alloc(1), TDL_E_STATE},
      {"alloc of none", nullptr, alloc(0), TDL_E_STATE},
      {"retain", nullptr, retain({0}), TDL_E_STATE},
      {"release", nullptr, release({0}), TDL_E_STATE},
      {"copy past the last", nullptr, copy({0}, {12}), TDL_E_RANGE, 0},
      {"copy to one block twice", nullptr, copy({0, 1}, {9, 9}), TDL_E_CONFLICT, 1},
      {"copy in a chain", nullptr, copy({8, 9}, {9, 10}), TDL_E_CONFLICT, 1},
  });
  Rig rig(TDL_KV_CALLER);
  CHECK(copy({3, 5}, {8, 11})(rig, nullptr) == TDL_OK);
  CHECK(copy({}, {})(rig, nullptr) == TDL_OK);
  rig.check_works();
}

TEST_CASE("refuses passes beyond the engine, and of no kind") {
  check_refused({
      {"unknown kind", nullptr, begin(2, 1, 1, 0), TDL_E_INVALID_ARGUMENT},
      {"negative kind", nullptr, begin(-1, 1, 1, 0), TDL_E_INVALID_ARGUMENT},
      {"too many sequences", nullptr, begin(TDL_PASS_DECODE, 4, 1, 0), TDL_E_LIMIT, -1, -1, 4},
      {"too many sequences of a prefill", nullptr, begin(TDL_PASS_PREFILL, UINT32_MAX, 0, 0), TDL_E_LIMIT, -1, -1, UINT32_MAX},
      {"too many rows of each sequence", nullptr, begin(TDL_PASS_DECODE, 1, 3, 0), TDL_E_LIMIT, -1, -1, 3},
      {"rows of each sequence beyond any", nullptr, begin(TDL_PASS_DECODE, 3, UINT32_MAX, 0), TDL_E_LIMIT, -1, -1, UINT32_MAX},
      {"too many rows of a prefill", nullptr, begin(TDL_PASS_PREFILL, 1, 0, 25), TDL_E_LIMIT, -1, -1, 25},
      {"max_rows of a decode", nullptr, begin(TDL_PASS_DECODE, 1, 1, 8), TDL_E_INVALID_ARGUMENT},
      {"rows_per_seq of a prefill", nullptr, begin(TDL_PASS_PREFILL, 1, 2, 0), TDL_E_INVALID_ARGUMENT},
  });
}
