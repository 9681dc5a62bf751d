// An engine's whole life with every kind of call, made so that any call may fail once.  Allocates nothing itself.
#pragma once
#include <cstdint>
#include <string>

#include "treadle/treadle.h"

namespace tdl::test {

struct LifePlan {
  const std::string* directory;  // of the golden model qwen3
  int32_t graph_mode = TDL_GRAPHS_AT_CREATE;
  tdl_log_fn log = nullptr;
  void* log_user = nullptr;
};

struct Life {
  tdl_status failure = TDL_OK;   // of the first call that failed, and which one it was
  const char* where = "";
  uint32_t failures = 0;
  bool consistent = true;        // errors agreed with their statuses, and out-parameters of failed calls were left alone
  const char* stuck = nullptr;   // a call that failed the second time too: the life ended there
  uint64_t bits = 0;             // a hash over all logits
  uint64_t graph_failures = 0;
};

// Each call that fails is made once more, which must then succeed.
Life live(const LifePlan& plan);

}  // namespace tdl::test
