// A model large enough that a pass over it is caught in the act: random weights, its config.json in memory.
#pragma once
#include <string_view>

#include "tests/support/host.h"

namespace tdl::test {

inline constexpr uint32_t kLongRows = 1024;  // a prefill of that many takes about a second and has nine boundaries

// Two sequences of kLongRows tokens and some fit: blocks of 64 tokens, 17 for each.
EngineHandle make_long_engine(const std::function<void(tdl_engine_config&)>& adjust = nullptr);
Sequence long_sequence(uint32_t index);  // 0 or 1: its blocks
std::vector<uint32_t> some_tokens(uint32_t count, uint32_t seed = 0);

// Uploads the work (without running it); fails the test when that is refused.  The sequences' lengths stay.
void upload(tdl_engine* engine, tdl_pass* pass, const std::vector<Work>& work, bool prefill);

// Returns when a thread is inside a call of the engine.
void await_inside(tdl_engine* engine);
// tdl_step, again while await_inside's own calls are in the way.
tdl_status step_anyhow(tdl_pass* pass, tdl_step_result* result = nullptr);

}  // namespace tdl::test
