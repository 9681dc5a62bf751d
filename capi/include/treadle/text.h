/* Text to tokens and back: library treadle-text, which uses nothing of libtreadle but its C ABI.  A tokenizer does what Hugging Face's
 * `tokenizers` package does with the same tokenizer.json, for byte-level BPE (the GPT-2, Qwen and Llama 3 families) and for BPE of
 * characters with byte fallback (Llama 2, Mistral, Gemma); a file that asks for anything else is TDL_E_UNSUPPORTED, and the error names it.
 *
 * A tokenizer never changes: any thread may use one, any number at a time.
 *
 * Buffers: *count and *length become what was written, or with TDL_E_BUFFER_TOO_SMALL what is needed, and then nothing else is written
 * (error.required has the same number).  A null buffer is allowed with capacity 0: that asks for the size, and is TDL_OK
 * when nothing is needed.  *count and *length themselves are not optional. */
#ifndef TREADLE_TEXT_H
#define TREADLE_TEXT_H
#include "treadle/source.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_tokenizer tdl_tokenizer;

typedef struct tdl_tokenizer_info { /* never changes in the tokenizer's life */
  uint32_t struct_size;
  uint32_t vocab_size;    /* largest id + 1; there may be gaps below it.  The model's own vocab_size may be larger: a token
                             it samples that is none here cannot be decoded (TDL_E_RANGE) */
  int32_t bos, eos, pad;  /* of tokenizer_config.json; -1 = none.  The ids that end a generation are tdl_engine_info.eos. */
  uint32_t reserved;
} tdl_tokenizer_info;

enum {
  TDL_TEXT_NO_SPECIAL = 1u << 0, /* encode: the text is data, special tokens in it are not recognised; decode: special tokens are left out */
  TDL_TEXT_ADD_SPECIAL = 1u << 1 /* encode: with the tokens that the file's post-processor puts around a text, such as BOS; else none is added.
                                    Flags may be combined; Hugging Face's default is ADD_SPECIAL alone, text from outside wants both */
};

TDL_API void tdl_tokenizer_info_init(tdl_tokenizer_info* info, size_t struct_size);

/* Reads tokenizer.json and, when it is there, tokenizer_config.json.  The source may be destroyed after.  TDL_E_NOT_FOUND without
 * tokenizer.json; TDL_E_FORMAT for a malformed file; TDL_E_UNSUPPORTED for a kind of tokenizer that is not supported. */
TDL_API tdl_status tdl_tokenizer_create(const tdl_source* source, tdl_tokenizer** tokenizer, tdl_error* error);
TDL_API tdl_status tdl_tokenizer_get_info(const tdl_tokenizer* tokenizer, tdl_tokenizer_info* info, tdl_error* error);

/* The tokens of `length` bytes of text, at most 2^31 - 1 (TDL_E_LIMIT).  Special tokens in the text, such as <|im_end|>, are recognised
 * unless TDL_TEXT_NO_SPECIAL is given, as it should be for text from outside; added tokens that are not special always are.  Text that is
 * no UTF-8 is legal: its malformed bytes become byte tokens, and decode gives them back.  Byte-level files without a normalizer give back
 * the text exactly; the others rewrite spaces, so a U+2581 comes back as one, and a space at the start may be lost.  Seldom more than length + 16 tokens: a buffer of that size saves asking.  TDL_E_UNSUPPORTED when the vocabulary
 * has no token for a byte of the text and no unknown token; TDL_E_LIMIT when a pattern of the file takes too many steps. */
TDL_API tdl_status tdl_tokenizer_encode(const tdl_tokenizer* tokenizer, const char* text, size_t length, uint32_t flags, uint32_t* tokens, size_t capacity, size_t* count, tdl_error* error);

/* The bytes that the tokens stand for.  They may begin or end inside a UTF-8 sequence: a character can be spread over several tokens.
 * Files of the Llama 2 kind put a space before a text, and decode takes it off the start again: what continues a text goes through
 * tdl_tokenizer_token_bytes.  TDL_E_RANGE for an id without a token; error.row is its index. */
TDL_API tdl_status tdl_tokenizer_decode(const tdl_tokenizer* tokenizer, const uint32_t* tokens, size_t count, uint32_t flags, char* text, size_t capacity, size_t* length, tdl_error* error);

/* The bytes that one token stands for inside a text, for streaming decoders and grammar masks: decode without TDL_TEXT_NO_SPECIAL is the
 * concatenation of these, less the space that it takes off the start.  A special token stands for its content.  TDL_E_RANGE for an id without a token. */
TDL_API tdl_status tdl_tokenizer_token_bytes(const tdl_tokenizer* tokenizer, uint32_t token, char* bytes, size_t capacity, size_t* length, tdl_error* error);

/* Null is allowed.  No other call may be using the tokenizer. */
TDL_API void tdl_tokenizer_destroy(tdl_tokenizer* tokenizer);

#ifdef __cplusplus
}
#endif
#endif
