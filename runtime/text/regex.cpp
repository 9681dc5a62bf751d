#include "runtime/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <limits>
#include <new>

#include "runtime/text/pattern.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

// What one match may take, beside what grows with the text: ordinary patterns need a few steps for each byte.
constexpr uint64_t kSteps = 10'000'000, kStepsPerByte = 16;
constexpr uint64_t kHeapKiB = 64 * 1024;  // and half a KiB for each byte: a frame is kept for every repetition of a group

void* take(PCRE2_SIZE bytes, void*) {
  return ::operator new(bytes, std::nothrow);
}
void give(void* memory, void*) {
  ::operator delete(memory);
}

struct FreeContext {
  void operator()(pcre2_general_context_8* context) const { pcre2_general_context_free_8(context); }
  void operator()(pcre2_compile_context_8* context) const { pcre2_compile_context_free_8(context); }
};
using General = std::unique_ptr<pcre2_general_context_8, FreeContext>;
General memory_context() {
  return General(pcre2_general_context_create_8(take, give, nullptr));
}

Status no_memory() {
  return fail(Code::out_of_memory, "no memory for a pattern");
}

uint32_t clamped(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

RegexScratch::~RegexScratch() {
  pcre2_match_data_free_8(data_);
  pcre2_match_context_free_8(limits_);
}

Status RegexScratch::prepare() {
  if (data_ != nullptr && limits_ != nullptr) return {};
  const General memory = memory_context();
  if (memory == nullptr) return no_memory();
  if (data_ == nullptr) data_ = pcre2_match_data_create_8(1, memory.get());
  if (limits_ == nullptr) limits_ = pcre2_match_context_create_8(memory.get());
  return data_ == nullptr || limits_ == nullptr ? no_memory() : Status();
}

void Regex::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free_8(code);
}

Result<Regex> Regex::compile(std::string_view pattern) {
  TDL_ASSIGN(const std::string translated, pcre2_pattern(pattern));
  return compile_pcre2(translated, PCRE2_UCP | PCRE2_MULTILINE);
}

Result<Regex> Regex::literal(std::string_view text) {
  if (valid_prefix(text) != text.size()) return fail(Code::format, "a pattern is not UTF-8");
  if (text.empty()) return compile_pcre2("", 0);
  return compile_pcre2(text, PCRE2_LITERAL);
}

Result<Regex> Regex::compile_pcre2(std::string_view pattern, uint32_t options) {
  const General memory = memory_context();
  const std::unique_ptr<pcre2_compile_context_8, FreeContext> context(memory ? pcre2_compile_context_create_8(memory.get())
                                                                             : nullptr);
  if (context == nullptr) return no_memory();
  pcre2_set_newline_8(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Regex regex;
  regex.code_.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(), options | PCRE2_UTF, &error,
                                    &offset, context.get()));
  if (regex.code_ != nullptr) return regex;
  if (error == PCRE2_ERROR_HEAP_FAILED) return no_memory();
  unsigned char message[120] = {};
  pcre2_get_error_message_8(error, message, sizeof message);
  const bool beyond = error == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH || error == PCRE2_ERROR_PATTERN_TOO_LARGE ||
                      error == PCRE2_ERROR_LOOKBEHIND_TOO_COMPLICATED;
  return fail(beyond ? Code::unsupported : Code::format, "a pattern does not compile: %s", reinterpret_cast<const char*>(message));
}

Status Regex::find_all(std::string_view text, RegexScratch* scratch, std::vector<Match>* matches) const {
  TDL_TRY(scratch->prepare());
  pcre2_set_match_limit_8(scratch->limits_, clamped(kSteps + kStepsPerByte * text.size()));
  pcre2_set_heap_limit_8(scratch->limits_, clamped(kHeapKiB + text.size() / 2));
  for (size_t at = 0; at < text.size();) {
    const size_t end = at + valid_prefix(text.substr(at));
    if (end > at) TDL_TRY(find_in_run(text, at, end, scratch, matches));
    at = end + malformed_prefix(text.substr(end));
  }
  return {};
}

Status Regex::find_in_run(std::string_view text, size_t run, size_t end, RegexScratch* scratch, std::vector<Match>* matches) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR8>(text.data() + run);
  const size_t length = end - run;
  size_t from = 0, last_end = length + 1;  // of the match before; none yet
  while (from <= length) {
    const int found = pcre2_match_8(code_.get(), subject, length, from, PCRE2_NO_UTF_CHECK, scratch->data_, scratch->limits_);
    if (found == PCRE2_ERROR_NOMATCH) return {};
    if (found == PCRE2_ERROR_NOMEMORY) return no_memory();
    if (found < 0) return fail(Code::limit, "a pattern takes too many steps at byte %zu of a text", run + from);
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer_8(scratch->data_);
    const size_t begin = bounds[0], stop = bounds[1];
    if (begin == stop && stop == last_end) {
      if (from == length) return {};
      from += first_char(text.substr(run + from)).length;
      continue;
    }
    from = last_end = stop;
    matches->push_back({run + begin, run + stop});
  }
  return {};
}

}  // namespace tdl::text
