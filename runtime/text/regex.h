// A compiled pattern.  PCRE2 with Unicode properties; its memory comes from operator new, and matching is bounded in steps and
// memory.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace tdl::text {

// Working memory of one thread's matching; not for two at a time.
class RegexScratch {
 public:
  RegexScratch() = default;
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;
  ~RegexScratch();

 private:
  friend class Regex;
  Status prepare();  // makes both on first use
  pcre2_real_match_data_8* data_ = nullptr;
  pcre2_real_match_context_8* limits_ = nullptr;
};

struct Match {
  size_t begin, end;  // bytes
};

// Immutable once compiled: any number of threads may match with one.
class Regex {
 public:
  // `pattern` is Oniguruma's, see pattern.h for what is refused; `format` when it is malformed.
  static Result<Regex> compile(std::string_view pattern);
  // Matches exactly these bytes, which must be UTF-8.
  static Result<Regex> literal(std::string_view text);

  // Appends all matches in `text`, left to right, without overlap.  An empty match counts, except where the match before it ended.
  // Malformed bytes match nothing, and a pattern sees the text's end before and its start behind them.  `limit` when the pattern
  // takes more steps or memory than a text of this length should.
  Status find_all(std::string_view text, RegexScratch* scratch, std::vector<Match>* matches) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  static Result<Regex> compile_pcre2(std::string_view pattern, uint32_t options);
  Status find_in_run(std::string_view text, size_t run, size_t end, RegexScratch* scratch, std::vector<Match>* matches) const;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace tdl::text
