/* Generates text from a model directory, the raw way: prefill the prompt, then one decode pass per token, greedily.
 *
 *     generate [--device NAME] [--max-tokens N] MODEL_DIRECTORY PROMPT...
 *
 * Every prompt is answered on its own, after the other.  Text appears as it is made; a UTF-8 sequence is never cut in two. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "treadle/text.h"
#include "treadle/treadle.h"

typedef struct model {
  tdl_engine* engine;
  tdl_tokenizer* tokenizer;
  tdl_pass *prefill, *decode;
  tdl_engine_info info;
  int32_t* blocks; /* 0..num_blocks-1: one sequence at a time owns them all */
} model;

typedef struct totals {
  uint64_t prompt_tokens, new_tokens;
  double prefill_seconds, decode_seconds;
} totals;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(const char* doing, tdl_status status, const tdl_error* error) {
  fprintf(stderr, "generate: %s: %s: %s\n", doing, tdl_status_name(status), error->message);
  return 1;
}

/* ---- loading --------------------------------------------------------------------------------------------------------------- */

static int begin_passes(model* m) {
  tdl_error error;
  tdl_pass_desc desc;
  tdl_status status;
  tdl_error_init(&error, sizeof error);
  tdl_pass_desc_init(&desc, sizeof desc);
  desc.kind = TDL_PASS_PREFILL;
  status = tdl_pass_begin(m->engine, &desc, &m->prefill, &error);
  if (status == TDL_OK) {
    desc.kind = TDL_PASS_DECODE;
    status = tdl_pass_begin(m->engine, &desc, &m->decode, &error);
  }
  return status == TDL_OK ? 0 : failed("beginning passes", status, &error);
}

static int load(model* m, const char* directory, const char* device) {
  tdl_error error;
  tdl_engine_config config;
  tdl_source* source = NULL;
  tdl_status status;
  uint32_t i;
  tdl_error_init(&error, sizeof error);
  if ((status = tdl_source_create(&source, &error)) != TDL_OK) return failed("making a source", status, &error);
  status = tdl_source_add_directory(source, directory, strlen(directory), &error);
  if (status == TDL_OK) status = tdl_tokenizer_create(source, &m->tokenizer, &error);
  if (status == TDL_OK) {
    tdl_engine_config_init(&config, sizeof config);
    config.model_source = source;
    config.device = device;
    config.device_length = strlen(device);
    config.max_seqs = 1;
    config.max_prefill_rows = 256; /* longer prompts go in chunks of this size */
    status = tdl_engine_create(&config, &m->engine, &error);
  }
  tdl_source_destroy(source);
  if (status == TDL_OK) {
    tdl_engine_info_init(&m->info, sizeof m->info);
    status = tdl_engine_get_info(m->engine, &m->info, &error);
  }
  if (status != TDL_OK) return failed("loading", status, &error);
  m->blocks = malloc(m->info.num_blocks * sizeof *m->blocks);
  if (!m->blocks) {
    fprintf(stderr, "generate: no memory\n");
    return 1;
  }
  for (i = 0; i < m->info.num_blocks; ++i) m->blocks[i] = (int32_t)i;
  return begin_passes(m);
}

static void unload(model* m) {
  tdl_pass_end(m->prefill);
  tdl_pass_end(m->decode);
  tdl_engine_destroy(m->engine);
  tdl_tokenizer_destroy(m->tokenizer);
  free(m->blocks);
}

/* ---- text ------------------------------------------------------------------------------------------------------------------ */

typedef struct writer {
  char held[8]; /* the beginning of a UTF-8 sequence whose end is still to come */
  size_t count;
} writer;

/* How many bytes a sequence has by its first one; 1 for what is no beginning. */
static size_t sequence_length(unsigned char first) {
  return first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 ? (first < 0xF0 ? 3 : 1) : first >= 0xC0 ? 2 : 1;
}

static void write_byte(writer* w, char byte) {
  if (w->count > 0 && ((unsigned char)byte & 0xC0) != 0x80) { /* the sequence was broken off: what there is goes out */
    fwrite(w->held, 1, w->count, stdout);
    w->count = 0;
  }
  w->held[w->count++] = byte;
  if (w->count >= sequence_length((unsigned char)w->held[0])) {
    fwrite(w->held, 1, w->count, stdout);
    w->count = 0;
  }
}

static int write_token(const model* m, writer* w, uint32_t token) {
  tdl_error error;
  char bytes[1024];
  size_t length = 0, i;
  tdl_status status;
  tdl_error_init(&error, sizeof error);
  status = tdl_tokenizer_token_bytes(m->tokenizer, token, bytes, sizeof bytes, &length, &error);
  if (status != TDL_OK) return failed("decoding a token", status, &error);
  for (i = 0; i < length; ++i) write_byte(w, bytes[i]);
  fflush(stdout);
  return 0;
}

/* The prompt's tokens, malloced; NULL on failure. */
static uint32_t* encode(const model* m, const char* text, size_t* count) {
  tdl_error error;
  uint32_t* tokens;
  tdl_status status;
  tdl_error_init(&error, sizeof error);
  status = tdl_tokenizer_encode(m->tokenizer, text, strlen(text), TDL_TEXT_ADD_SPECIAL, NULL, 0, count, &error);
  if (status != TDL_OK && status != TDL_E_BUFFER_TOO_SMALL) {
    failed("encoding the prompt", status, &error);
    return NULL;
  }
  tokens = malloc((*count + 1) * sizeof *tokens);
  if (!tokens) {
    fprintf(stderr, "generate: no memory\n");
    return NULL;
  }
  status = tdl_tokenizer_encode(m->tokenizer, text, strlen(text), TDL_TEXT_ADD_SPECIAL, tokens, *count, count, &error);
  if (status != TDL_OK) {
    failed("encoding the prompt", status, &error);
    free(tokens);
    return NULL;
  }
  return tokens;
}

/* ---- passes ---------------------------------------------------------------------------------------------------------------- */

/* Runs `rows` tokens that begin at KV index `start`; with `token`, the token that follows them. */
static int run(model* m, tdl_pass* pass, const uint32_t* tokens, uint32_t rows, uint32_t start, uint32_t* token) {
  tdl_error error;
  tdl_metadata metadata;
  tdl_step_result result;
  tdl_status row_status = TDL_OK, status;
  uint32_t* positions = malloc(rows * sizeof *positions);
  uint32_t length = start + rows, i;
  int32_t no_rows = 0;
  if (!positions) {
    fprintf(stderr, "generate: no memory\n");
    return 1;
  }
  for (i = 0; i < rows; ++i) positions[i] = start + i;
  tdl_error_init(&error, sizeof error);
  tdl_metadata_init(&metadata, sizeof metadata);
  metadata.num_rows = rows;
  metadata.num_seqs = 1;
  metadata.max_blocks_per_seq = m->info.num_blocks;
  metadata.token_ids = tokens;
  metadata.positions = positions;
  metadata.seq_len = &length;
  metadata.block_table = m->blocks;
  if (!token) metadata.output_row = &no_rows; /* num_outputs 0: an inner chunk of a prompt needs no logits */
  tdl_step_result_init(&result, sizeof result);
  if (token) {
    result.capacity = 1;
    result.tokens = token;
    result.row_status = &row_status;
  }
  status = tdl_upload_metadata(pass, &metadata, &error);
  if (status == TDL_OK) status = tdl_step(pass, &result, &error);
  free(positions);
  if (status != TDL_OK) return failed("running a pass", status, &error);
  if (row_status != TDL_OK) {
    fprintf(stderr, "generate: the model's logits are not finite\n");
    return 1;
  }
  return 0;
}

static int is_eos(const model* m, uint32_t token) {
  uint32_t i;
  for (i = 0; i < m->info.num_eos; ++i) {
    if (m->info.eos[i] == token) return 1;
  }
  return 0;
}

static int generate(model* m, const uint32_t* prompt, uint32_t count, uint32_t max_tokens, totals* sum) {
  writer w = {{0}, 0};
  uint32_t done, made = 0, token = 0;
  double begin = seconds();
  for (done = 0; done < count;) {
    uint32_t rows = count - done < m->info.max_prefill_rows ? count - done : m->info.max_prefill_rows;
    if (run(m, m->prefill, prompt + done, rows, done, done + rows == count ? &token : NULL)) return 1;
    done += rows;
  }
  sum->prefill_seconds += seconds() - begin;
  sum->prompt_tokens += count;
  begin = seconds();
  while (made < max_tokens && !is_eos(m, token)) {
    uint32_t next = 0;
    if (write_token(m, &w, token)) return 1;
    ++made;
    if (made == max_tokens || count + made > m->info.max_context) break;
    if (run(m, m->decode, &token, 1, count + made - 1, &next)) return 1;
    token = next;
    ++sum->new_tokens;
  }
  sum->decode_seconds += seconds() - begin;
  fwrite(w.held, 1, w.count, stdout);
  putchar('\n');
  return 0;
}

/* ---- command line ---------------------------------------------------------------------------------------------------------- */

static int usage(void) {
  fprintf(stderr, "usage: generate [--device NAME] [--max-tokens N] MODEL_DIRECTORY PROMPT...\n");
  return 2;
}

int main(int argc, char** argv) {
  model m = {NULL, NULL, NULL, NULL, {0}, NULL};
  totals sum = {0, 0, 0, 0};
  const char* device = "auto";
  unsigned long max_tokens = 128;
  int at = 1, result = 0;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--device") == 0) {
      device = argv[at + 1];
    } else if (strcmp(argv[at], "--max-tokens") == 0) {
      char* end;
      max_tokens = strtoul(argv[at + 1], &end, 10);
      if (*end || max_tokens == 0 || max_tokens > 1000000) return usage();
    } else {
      return usage();
    }
  }
  if (argc - at < 2) return usage();
  result = load(&m, argv[at], device);
  for (++at; result == 0 && at < argc; ++at) {
    size_t count = 0;
    uint32_t* tokens = encode(&m, argv[at], &count);
    if (tokens && count > 0 && count <= m.info.max_context) {
      fputs(argv[at], stdout);
      fflush(stdout);
      result = generate(&m, tokens, (uint32_t)count, (uint32_t)max_tokens, &sum);
    } else {
      if (tokens) fprintf(stderr, "generate: a prompt of %zu tokens; the model takes 1 to %u\n", count, m.info.max_context);
      result = 1;
    }
    free(tokens);
  }
  if (result == 0 && sum.decode_seconds > 0) {
    printf("\n%s on %s: prefill %.0f tokens/s, decode %.0f tokens/s\n", m.info.architecture, m.info.device,
           (double)sum.prompt_tokens / sum.prefill_seconds, (double)sum.new_tokens / sum.decode_seconds);
  }
  unload(&m);
  return result;
}
