#include "treadle/text.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/src/boundary.h"
#include "runtime/text/tokenizer.h"

// The engine's handles are none of this library's business, so the shell is here.
struct tdl_tokenizer {
  static constexpr uint32_t kKind = 0x54444C54;
  uint32_t kind = kKind;
  std::unique_ptr<const tdl::text::Tokenizer> tokenizer;
};

namespace {

using namespace tdl;
using namespace tdl::abi;

Status check_tokenizer(const tdl_tokenizer* tokenizer) {
  if (!tokenizer) return fail(Code::invalid_argument, "tdl_tokenizer is null");
  if (tokenizer->kind != tdl_tokenizer::kKind) return fail(Code::invalid_argument, "tdl_tokenizer is no tdl_tokenizer");
  return {};
}

Status check_flags(uint32_t flags, uint32_t known) {
  if (flags & ~known) return fail(Code::invalid_argument, "flags 0x%x are unknown here", flags & ~known);
  return {};
}

// A failure that came over the C ABI.
Status status_of(const tdl_error& error) {
  return fail(static_cast<Code>(error.status), "%s", error.message).native(error.native_code).needs(error.required);
}

// The whole file; with `optional` one that is not there is empty.
Status read_file(const tdl_source* source, std::string_view name, bool optional, std::string* contents) {
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  size_t bytes = 0;
  const tdl_status asked = tdl_source_read(source, name.data(), name.size(), nullptr, 0, &bytes, &error);
  if (asked == TDL_E_NOT_FOUND && optional) return {};
  if (asked != TDL_OK && asked != TDL_E_BUFFER_TOO_SMALL) return status_of(error);
  contents->resize(bytes);
  if (tdl_source_read(source, name.data(), name.size(), contents->data(), contents->size(), &bytes, &error) != TDL_OK)
    return status_of(error);
  contents->resize(bytes);
  return {};
}

// Hands `count` elements to the caller's buffer, or says how many there are.
template <class T>
Status give(const T* elements, size_t count, T* buffer, size_t capacity, size_t* given) {
  *given = count;
  if (count > capacity) return fail(Code::buffer_too_small, "the buffer holds %zu of %zu", capacity, count).needs(count);
  if (count) std::memcpy(buffer, elements, count * sizeof(T));
  return {};
}

template <class T>
Status check_buffer(const T* buffer, size_t capacity, const size_t* given) {
  if (!given) return fail(Code::invalid_argument, "there is nowhere to write the count to");
  if (!buffer && capacity) return fail(Code::invalid_argument, "the buffer is null with capacity %zu", capacity);
  return {};
}

}  // namespace

extern "C" {

void tdl_tokenizer_info_init(tdl_tokenizer_info* info, size_t struct_size) {
  init_struct(info, struct_size);
}

tdl_status tdl_tokenizer_create(const tdl_source* source, tdl_tokenizer** tokenizer, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    if (!tokenizer) return fail(Code::invalid_argument, "tokenizer is null");
    std::string tokenizer_json, config_json;
    TDL_TRY(read_file(source, "tokenizer.json", false, &tokenizer_json));
    TDL_TRY(read_file(source, "tokenizer_config.json", true, &config_json));
    TDL_ASSIGN(auto made, text::Tokenizer::create(tokenizer_json, config_json));
    auto shell = std::make_unique<tdl_tokenizer>();
    shell->tokenizer = std::move(made);
    *tokenizer = shell.release();
    return {};
  });
}

tdl_status tdl_tokenizer_get_info(const tdl_tokenizer* tokenizer, tdl_tokenizer_info* info, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_tokenizer(tokenizer));
    tdl_tokenizer_info local;
    TDL_TRY(read_struct(info, &local, "tdl_tokenizer_info"));
    local = {};
    local.vocab_size = tokenizer->tokenizer->vocab_size();
    local.bos = tokenizer->tokenizer->bos();
    local.eos = tokenizer->tokenizer->eos();
    local.pad = tokenizer->tokenizer->pad();
    write_struct(info, local);
    return {};
  });
}

tdl_status tdl_tokenizer_encode(const tdl_tokenizer* tokenizer, const char* text, size_t length, uint32_t flags, uint32_t* tokens,
                                size_t capacity, size_t* count, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_tokenizer(tokenizer));
    TDL_TRY(check_string(text, length, "text"));
    TDL_TRY(check_flags(flags, TDL_TEXT_NO_SPECIAL | TDL_TEXT_ADD_SPECIAL));
    TDL_TRY(check_buffer(tokens, capacity, count));
    const text::EncodeOptions options{(flags & TDL_TEXT_NO_SPECIAL) != 0, (flags & TDL_TEXT_ADD_SPECIAL) != 0};
    std::vector<uint32_t> ids;
    TDL_TRY(tokenizer->tokenizer->encode({text, length}, options, &ids));
    return give(ids.data(), ids.size(), tokens, capacity, count);
  });
}

tdl_status tdl_tokenizer_decode(const tdl_tokenizer* tokenizer, const uint32_t* tokens, size_t count, uint32_t flags, char* text,
                                size_t capacity, size_t* length, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_tokenizer(tokenizer));
    if (!tokens && count) return fail(Code::invalid_argument, "tokens is null with count %zu", count);
    TDL_TRY(check_flags(flags, TDL_TEXT_NO_SPECIAL));
    TDL_TRY(check_buffer(text, capacity, length));
    std::string bytes;
    TDL_TRY(tokenizer->tokenizer->decode(tokens, count, (flags & TDL_TEXT_NO_SPECIAL) != 0, &bytes));
    return give(bytes.data(), bytes.size(), text, capacity, length);
  });
}

tdl_status tdl_tokenizer_token_bytes(const tdl_tokenizer* tokenizer, uint32_t token, char* bytes, size_t capacity, size_t* length,
                                     tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_tokenizer(tokenizer));
    TDL_TRY(check_buffer(bytes, capacity, length));
    std::string found;
    TDL_TRY(tokenizer->tokenizer->token_bytes(token, &found));
    return give(found.data(), found.size(), bytes, capacity, length);
  });
}

void tdl_tokenizer_destroy(tdl_tokenizer* tokenizer) {
  if (!check_tokenizer(tokenizer).ok()) return;
  tokenizer->kind = 0;
  delete tokenizer;
}

}  // extern "C"
