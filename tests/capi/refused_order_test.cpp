// Calls out of order: submits, tickets, samples and maps that are refused.
#include <doctest/doctest.h>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

constexpr uint64_t kForever = UINT64_MAX;

tdl_status upload(Rig& r, tdl_error* e) { return tdl_upload_metadata(r.pass, &r.in.m, e); }
tdl_status submit(Rig& r, tdl_error* e) { return tdl_submit(r.pass, &r.out.ticket, e); }
tdl_status step(Rig& r, tdl_error* e) { return tdl_step(r.pass, &r.out.result, e); }
tdl_status sample(Rig& r, tdl_error* e) { return tdl_sample(r.pass, nullptr, &r.out.result, e); }
CallOn wait(uint64_t back) {  // for the ticket that many submits before the last
  return [back](Rig& r, tdl_error* e) { return tdl_wait(r.engine.get(), r.ticket - back, kForever, &r.out.result, e); };
}

void serve(Rig& r) { r.upload(), r.submit(), r.wait(); }
void serve_times(Rig& r, int times) {
  while (times--) serve(r);
}
void use_silent(Rig& r) { r.pass = r.silent.get(); }
void no_results(Rig& r) { r.out.result.logits = r.out.result.hidden = nullptr, r.out.result.tokens = nullptr, r.out.result.row_status = nullptr; }
void only_tokens(Rig& r) { r.out.result.logits = r.out.result.hidden = nullptr, r.out.result.row_status = nullptr; }

// The next upload's arrays, as tdl_pass_map gives them to the rig's pass, filled with the good decode.
void map(Rig& r) {
  tdl_metadata m;
  tdl_metadata_init(&m, sizeof m);
  r.use(tdl_pass_map(r.pass, &m, nullptr));
  const tdl_metadata& from = r.in.m;
  std::copy_n(from.token_ids, from.num_rows, const_cast<uint32_t*>(m.token_ids));
  std::copy_n(from.positions, from.num_rows, const_cast<uint32_t*>(m.positions));
  std::copy_n(from.slot, from.num_rows, const_cast<int64_t*>(m.slot));
  std::copy_n(from.seq_len, from.num_seqs, const_cast<uint32_t*>(m.seq_len));
  const uint32_t stride = from.max_blocks_per_seq;
  for (uint32_t s = 0; s < from.num_seqs; ++s)
    std::copy_n(from.block_table + s * stride, stride, const_cast<int32_t*>(m.block_table) + s * m.max_blocks_per_seq);
  m.num_rows = from.num_rows;
  m.num_seqs = from.num_seqs;
  m.token_from = nullptr;
  m.output_row = nullptr;
  r.in.m = m;
}

}  // namespace

TEST_CASE("refuses a submit, step or sample that nothing was uploaded for") {
  const auto other_uploads = [](Rig& r) { r.upload(), r.use(tdl_upload_metadata(r.silent.get(), &r.in.m, nullptr)); };
  std::vector<BadCall> calls;
  for (const auto& [name, call] : {std::pair<std::string, CallOn>{"submit", submit}, {"step", step}}) {
    calls.push_back({name + " before any upload", nullptr, call, TDL_E_STATE});
    calls.push_back({name + " twice of one upload", serve, call, TDL_E_STATE});
    calls.push_back({name + " after another pass's upload", other_uploads, call, TDL_E_STATE});
    calls.push_back({name + " of a pass whose last upload was refused and that had none before",
                     [](Rig& r) { r.in.tokens[0] = kVocab, static_cast<void>(upload(r, nullptr)); }, call, TDL_E_STATE});
  }
  calls.push_back({"view before any upload", nullptr, [](Rig& r, tdl_error* e) { return tdl_pass_get_view(r.pass, &r.out.view, e); }, TDL_E_STATE});
  check_refused(calls);
}

TEST_CASE("a refused upload leaves the one before it to be submitted") {
  Rig rig(TDL_KV_CALLER);
  rig.upload();
  rig.in.tokens[1] = kVocab;
  CHECK(upload(rig, nullptr) == TDL_E_RANGE);
  rig.submit();
  rig.wait();
}

TEST_CASE("refuses tickets that were never given out, and results that are gone") {
  const auto ticket = [](int64_t off) {
    return [off](Rig& r, tdl_error* e) { return tdl_wait(r.engine.get(), r.ticket + static_cast<uint64_t>(off), 0, nullptr, e); };
  };
  check_refused({
      {"ticket 0", nullptr, [](Rig& r, tdl_error* e) { return tdl_wait(r.engine.get(), 0, 0, nullptr, e); }, TDL_E_INVALID_ARGUMENT},
      {"the next ticket", nullptr, ticket(1), TDL_E_INVALID_ARGUMENT},
      {"a ticket far ahead", nullptr, [](Rig& r, tdl_error* e) { return tdl_wait(r.engine.get(), UINT64_MAX, 0, nullptr, e); }, TDL_E_INVALID_ARGUMENT},
      {"a ticket four submits back", [](Rig& r) { serve_times(r, 4); }, ticket(-4), TDL_E_STATE},
      {"tokens four submits back", [](Rig& r) { serve_times(r, 4), only_tokens(r); }, wait(4), TDL_E_STATE},
      {"logits of an old ticket", [](Rig& r) { serve(r), only_tokens(r), r.out.result.logits = r.out.logits; }, wait(1), TDL_E_STATE},
      {"hidden of an old ticket", [](Rig& r) { serve(r), only_tokens(r), r.out.result.hidden = r.out.hidden; }, wait(1), TDL_E_STATE},
      {"tokens of a pass without sampling", [](Rig& r) { use_silent(r), serve(r); }, wait(0), TDL_E_STATE},
      {"the same when stepping", [](Rig& r) { use_silent(r), r.upload(); }, step, TDL_E_STATE},
      {"log-probabilities", [](Rig& r) { r.out.result.token_logprobs = r.out.token_logprobs; }, wait(0), TDL_E_UNSUPPORTED},
      {"top tokens when stepping", [](Rig& r) { r.upload(), r.out.result.top_tokens = r.out.tokens; }, step, TDL_E_UNSUPPORTED},
  });
  Rig rig(TDL_KV_CALLER);
  serve_times(rig, 3);
  only_tokens(rig);
  CHECK(wait(3)(rig, nullptr) == TDL_OK);  // the fourth to last is kept
  CHECK(rig.out.result.num_outputs == 2);
}

TEST_CASE("refuses a result with too little room, says how much is needed, and keeps the ticket") {
  const auto check = [](Rig& rig, const CallOn& call) {
    for (const uint32_t capacity : {0u, 1u}) {
      rig.out.result.capacity = capacity;
      rig.out.result.num_outputs = 99;
      const auto tokens = std::vector<uint32_t>(rig.out.tokens, rig.out.tokens + 32);
      const uint64_t before = rig.digest();
      Error error;
      CHECK(call(rig, &error) == TDL_E_BUFFER_TOO_SMALL);
      CHECK(error.required == 2);
      CHECK(rig.out.result.num_outputs == 2);
      CHECK(rig.out.result.capacity == capacity);
      CHECK(std::equal(tokens.begin(), tokens.end(), rig.out.tokens));
      CHECK(rig.digest() == before);
    }
    rig.out.result.capacity = 2;
  };
  Rig waited(TDL_KV_CALLER);
  serve(waited);
  check(waited, wait(0));
  CHECK(wait(0)(waited, nullptr) == TDL_OK);
  CHECK(waited.out.tokens[1] < kVocab);

  Rig stepped(TDL_KV_CALLER);
  stepped.upload();
  check(stepped, step);  // nothing ran: the upload is still there
  CHECK(step(stepped, nullptr) == TDL_OK);

  Rig sampled(TDL_KV_CALLER);
  use_silent(sampled);
  serve(sampled);
  check(sampled, sample);
  CHECK(sample(sampled, nullptr) == TDL_OK);

  Rig unwanted(TDL_KV_CALLER);
  serve(unwanted);
  no_results(unwanted);
  unwanted.out.result.capacity = 0;  // no arrays, no room needed
  CHECK(wait(0)(unwanted, nullptr) == TDL_OK);
  CHECK(unwanted.out.result.num_outputs == 2);
}

TEST_CASE("refuses to sample what cannot be sampled") {
  check_refused({
      {"before any submit of the pass", use_silent, sample, TDL_E_STATE},
      {"after an upload alone", [](Rig& r) { use_silent(r), r.upload(); }, sample, TDL_E_STATE},
      {"on a pass that samples itself", serve, sample, TDL_E_STATE},
      {"after another pass's submit", [](Rig& r) { use_silent(r), serve(r), r.use_decode(), serve(r), use_silent(r); }, sample, TDL_E_STATE},
      {"after the pass's next upload", [](Rig& r) { use_silent(r), serve(r), r.upload(); }, sample, TDL_E_STATE},
      {"after another pass's upload", [](Rig& r) { r.upload(), use_silent(r), serve(r), r.use_decode(), r.upload(), use_silent(r); }, sample, TDL_E_STATE},
      {"with sampling that is not there yet", [](Rig& r) { use_silent(r), serve(r), r.in.m.sampling = r.in.sampling, r.in.sampling[1].temperature = 1; },
       [](Rig& r, tdl_error* e) { return tdl_sample(r.pass, &r.in.m, &r.out.result, e); }, TDL_E_UNSUPPORTED},
      {"with a mask", [](Rig& r) { use_silent(r), serve(r), r.in.m.mask = r.in.tokens; },
       [](Rig& r, tdl_error* e) { return tdl_sample(r.pass, &r.in.m, &r.out.result, e); }, TDL_E_UNSUPPORTED},
      {"tokens of the submit before, when it has none", [](Rig& r) { use_silent(r), serve(r), r.in.m.token_from = r.in.token_from, r.in.token_from[1] = 0; },
       upload, TDL_E_STATE, 1, 1},
      {"a token of a sequence that sat out",
       [](Rig& r) {
         r.in.seq_len[0] = 0, r.in.slot[0] = -1;
         serve(r);
         r.use_decode();
         r.in.m.token_from = r.in.token_from, r.in.token_from[1] = 0;
       },
       upload, TDL_E_RANGE, 1, 1},
  });
}

TEST_CASE("refuses mapped arrays that are stale, another pass's or shifted") {
  const auto remap = [](Rig& r) { map(r), r.upload(), r.submit(), r.wait(); };
  const auto stale = [](const Change& between) {
    return [between](Rig& r) {
      map(r);
      const tdl_metadata mapped = r.in.m;
      r.use_decode();
      between(r);
      r.use_decode();
      r.in.m = mapped;
    };
  };
  check_refused({
      {"used twice", remap, upload, TDL_E_STATE},
      {"after a foreign upload", stale([](Rig& r) { serve(r); }), upload, TDL_E_STATE},
      {"after another pass's upload", stale([](Rig& r) { use_silent(r), serve(r); }), upload, TDL_E_STATE},
      {"after another pass's map", stale([](Rig& r) { use_silent(r), map(r); }), upload, TDL_E_STATE},
      {"handed to another pass", [](Rig& r) { map(r), use_silent(r); }, upload, TDL_E_STATE},
      {"of a pass that has ended", stale([](Rig& r) { r.decode = begin_pass(r.engine.get(), TDL_PASS_DECODE, 2); }), upload, TDL_E_STATE},
      {"of an upload two stagings ago", stale([](Rig& r) { serve_times(r, 2); }), upload, TDL_E_STATE},
      {"shifted", [](Rig& r) { map(r), ++r.in.m.token_ids; }, upload, TDL_E_STATE},
      {"in another's place", [](Rig& r) { map(r), r.in.m.positions = r.in.m.token_ids; }, upload, TDL_E_STATE},
      {"foreign arrays beside one shifted mapped", [](Rig& r) { map(r); const int64_t* slot = r.in.m.slot; r.use_decode(); r.in.m.slot = slot + 1; }, upload, TDL_E_STATE},
      {"with a stride beyond the mapped table's", [](Rig& r) { map(r), r.in.m.max_blocks_per_seq = 1000; }, upload, TDL_E_RANGE},
      {"with a bad value in them", [](Rig& r) { map(r), const_cast<uint32_t*>(r.in.m.token_ids)[1] = kVocab; }, upload, TDL_E_RANGE, 1, 1},
  });
}

TEST_CASE("a mapped upload that was refused can be mended in place") {
  Rig rig(TDL_KV_CALLER);
  map(rig);
  auto* tokens = const_cast<uint32_t*>(rig.in.m.token_ids);
  const uint32_t good = tokens[0];
  tokens[0] = kVocab;
  CHECK(upload(rig, nullptr) == TDL_E_RANGE);
  tokens[0] = good;
  rig.upload();
  CHECK(step(rig, nullptr) == TDL_OK);
}
