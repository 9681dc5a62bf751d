/* Continuous batching:  batching MODEL_DIRECTORY PROMPT...
 *
 * Every prompt becomes a sequence, and at most MAX_SEQS sequences run at a time.  A step of the host is
 *   join:    waiting sequences, in the order of the arguments, take a place and the blocks that their tokens need;
 *   prefill: one ragged pass over the running sequences that have several tokens outside the KV cache (a long prompt takes several steps);
 *   decode:  one pass over the running sequences that have one, the newest.
 * A sequence leaves at an end-of-sequence token, or at max_context, and gives its blocks back.  Where a running sequence needs a block and
 * none is free, the last one that runs gives its blocks back and waits again; it keeps its tokens and prefills them when it rejoins.  So
 * the first one always gets on: an engine has the blocks for at least one sequence of max_context. */
#include "treadle/text.h"
#include "treadle/treadle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEQS = 6 };

typedef struct sequence {
  const char* prompt;
  uint32_t* tokens; /* prompt and answer: room for max_context + 1, as the last token sampled never needs a place in the KV cache */
  int32_t* blocks;  /* room for host.max_blocks */
  uint32_t num_prompt, num_tokens, num_cached, num_blocks;
  uint32_t rows; /* tokens that it brings to the pass under assembly */
  int running, finished;
} sequence;

typedef struct host {
  tdl_source* source;
  tdl_tokenizer* tokenizer;
  tdl_engine* engine;
  tdl_engine_info info;
  tdl_pass *prefill, *decode;
  tdl_error error;
  uint32_t max_blocks; /* of one sequence */
  sequence *seqs, *end;
  unsigned long num_running, num_finished, num_passes, most_together;
  uint32_t *token_ids, *positions; /* [max_prefill_rows + MAX_SEQS]: enough for either pass */
  int32_t* block_table;            /* [MAX_SEQS, max_blocks] */
} host;

static int fail(const char* what, const char* detail) {
  fprintf(stderr, "batching: %s: %s\n", what, detail);
  return 0;
}

static int ok(const host* h, tdl_status status, const char* what) {
  if (status != TDL_OK) fprintf(stderr, "batching: %s: %s: %s\n", what, tdl_status_name(status), h->error.message);
  return status == TDL_OK;
}

static int open_model(host* h, const char* path) {
  tdl_engine_config config;
  tdl_pass_desc desc;
  if (!ok(h, tdl_source_create(&h->source, &h->error), "source")) return 0;
  if (!ok(h, tdl_source_add_directory(h->source, path, strlen(path), &h->error), "model directory")) return 0;
  if (!ok(h, tdl_tokenizer_create(h->source, &h->tokenizer, &h->error), "tokenizer")) return 0;
  tdl_engine_config_init(&config, sizeof config);
  config.model_source = h->source;
  config.max_seqs = MAX_SEQS;
  config.kv_mode = TDL_KV_POOL;
  tdl_engine_info_init(&h->info, sizeof h->info);
  if (!ok(h, tdl_engine_create(&config, &h->engine, &h->error), "engine")) return 0;
  if (!ok(h, tdl_engine_get_info(h->engine, &h->info, &h->error), "engine info")) return 0;

  tdl_pass_desc_init(&desc, sizeof desc);
  desc.num_seqs = MAX_SEQS;
  desc.kind = TDL_PASS_PREFILL;
  if (!ok(h, tdl_pass_begin(h->engine, &desc, &h->prefill, &h->error), "prefill pass")) return 0;
  desc.kind = TDL_PASS_DECODE;
  if (!ok(h, tdl_pass_begin(h->engine, &desc, &h->decode, &h->error), "decode pass")) return 0;

  h->max_blocks = (h->info.max_context - 1) / h->info.block_size + 1;
  h->token_ids = calloc((size_t)h->info.max_prefill_rows + MAX_SEQS, 2 * sizeof *h->token_ids);
  h->positions = h->token_ids ? h->token_ids + h->info.max_prefill_rows + MAX_SEQS : NULL;
  h->block_table = calloc((size_t)MAX_SEQS * h->max_blocks, sizeof *h->block_table);
  return (h->token_ids && h->block_table) || fail("host", "out of memory");
}

static int add_prompt(host* h, sequence* s, const char* prompt) {
  const uint32_t flags = TDL_TEXT_ADD_SPECIAL | TDL_TEXT_NO_SPECIAL; /* BOS where the model wants it; the prompt itself is only data */
  size_t count = 0;
  tdl_status status;
  s->prompt = prompt;
  s->tokens = malloc(((size_t)h->info.max_context + 1) * sizeof *s->tokens);
  s->blocks = malloc(h->max_blocks * sizeof *s->blocks);
  if (!s->tokens || !s->blocks) return fail("host", "out of memory");
  status = tdl_tokenizer_encode(h->tokenizer, prompt, strlen(prompt), flags, s->tokens, h->info.max_context, &count, &h->error);
  if (status == TDL_E_BUFFER_TOO_SMALL) return fail("a prompt has more tokens than max_context", prompt);
  if (!ok(h, status, prompt)) return 0;
  if (count == 0) return fail("a prompt has no tokens", prompt);
  s->num_prompt = s->num_tokens = (uint32_t)count;
  return 1;
}

/* Blocks for all of the sequence's tokens.  *there = 0: too few are free now. */
static int reserve(host* h, sequence* s, int* there) {
  uint32_t need = (s->num_tokens - 1) / h->info.block_size + 1;
  tdl_status status = TDL_OK;
  if (need > s->num_blocks) status = tdl_kv_alloc(h->engine, s->blocks + s->num_blocks, need - s->num_blocks, &h->error);
  *there = status == TDL_OK;
  if (status == TDL_E_OUT_OF_MEMORY) return 1;
  if (*there) s->num_blocks = need;
  return ok(h, status, "KV blocks");
}

static int leave(host* h, sequence* s) {
  if (!ok(h, tdl_kv_release(h->engine, s->blocks, s->num_blocks, &h->error), "release of KV blocks")) return 0;
  s->num_blocks = s->num_cached = 0;
  s->running = 0;
  --h->num_running;
  return 1;
}

/* Takes in the token sampled after all of the sequence's tokens. */
static int take(host* h, sequence* s, uint32_t token) {
  uint32_t i;
  for (i = 0; i < h->info.num_eos; ++i)
    if (h->info.eos[i] == token) s->finished = 1;
  if (!s->finished) s->tokens[s->num_tokens++] = token;
  if (s->num_tokens > h->info.max_context) s->finished = !fail("an answer was cut at max_context", s->prompt); /* said, but no failure */
  if (!s->finished) return 1;
  ++h->num_finished;
  return leave(h, s);
}

/* Runs a pass over the sequences that have rows for it.  Those that have no more tokens left afterwards get an output. */
static int run(host* h, tdl_pass* pass) {
  uint32_t seq_len[MAX_SEQS], query_start[MAX_SEQS + 1] = {0}, tokens[MAX_SEQS], seqs = 0, rows = 0, outputs = 0, i;
  int32_t output_row[MAX_SEQS];
  sequence *s, *output_seq[MAX_SEQS];
  tdl_status row_status[MAX_SEQS];
  tdl_metadata m;
  tdl_step_result result;
  for (s = h->seqs; s < h->end; ++s) {
    if (s->rows == 0) continue;
    for (; s->rows; --s->rows, ++rows) {
      h->token_ids[rows] = s->tokens[s->num_cached];
      h->positions[rows] = s->num_cached++;
    }
    memcpy(h->block_table + (size_t)seqs * h->max_blocks, s->blocks, s->num_blocks * sizeof *s->blocks);
    seq_len[seqs] = s->num_cached;
    query_start[++seqs] = rows;
    if (s->num_cached < s->num_tokens) continue;
    output_seq[outputs] = s;
    output_row[outputs++] = (int32_t)rows - 1;
  }
  if (seqs == 0) return 1;
  tdl_metadata_init(&m, sizeof m);
  m.num_rows = rows;
  m.num_seqs = seqs;
  m.max_blocks_per_seq = h->max_blocks;
  m.token_ids = h->token_ids;
  m.positions = h->positions;
  m.seq_len = seq_len;
  m.block_table = h->block_table;
  m.query_start = pass == h->prefill ? query_start : NULL;
  m.output_row = output_row;
  m.num_outputs = outputs;
  if (!ok(h, tdl_upload_metadata(pass, &m, &h->error), "upload")) return 0;
  tdl_step_result_init(&result, sizeof result);
  result.capacity = MAX_SEQS;
  result.tokens = tokens;
  result.row_status = row_status;
  if (!ok(h, tdl_step(pass, &result, &h->error), "step")) return 0;
  ++h->num_passes;
  if (seqs > h->most_together) h->most_together = seqs;
  for (i = 0; i < outputs; ++i)
    if (row_status[i] != TDL_OK ? !fail(tdl_status_name(row_status[i]), output_seq[i]->prompt) : !take(h, output_seq[i], tokens[i])) return 0;
  return 1;
}

static int step(host* h) {
  sequence *s, *last;
  uint32_t room = h->info.max_prefill_rows, pending;
  int there = 0;
  for (s = h->seqs; s < h->end && h->num_running < MAX_SEQS; ++s) { /* join */
    if (s->running || s->finished) continue;
    if (!reserve(h, s, &there)) return 0;
    if (!there && h->num_running == 0) return fail("too few KV blocks although nothing runs", s->prompt);
    if (!there) break; /* nobody overtakes it */
    s->running = 1;
    ++h->num_running;
  }
  for (s = h->seqs; s < h->end; ++s) { /* prefill */
    pending = s->running ? s->num_tokens - s->num_cached : 0;
    s->rows = pending < 2 ? 0 : pending < room ? pending : room;
    room -= s->rows;
  }
  if (!run(h, h->prefill)) return 0;
  for (s = h->seqs; s < h->end; ++s) { /* decode */
    if (!s->running || s->num_tokens - s->num_cached != 1) continue;
    if (!reserve(h, s, &there)) return 0;
    while (!there && s->running) {
      for (last = h->end - 1; !last->running;) --last; /* s or one behind it, which has no rows yet */
      if (!leave(h, last) || (s->running && !reserve(h, s, &there))) return 0;
    }
    s->rows = s->running ? 1 : 0;
  }
  return run(h, h->decode);
}

/* Token by token, as the model may sample ids that the tokenizer does not have; they are shown as U+FFFD. */
static int print(host* h, const sequence* s) {
  uint32_t i;
  fputs(s->prompt, stdout);
  for (i = s->num_prompt; i < s->num_tokens; ++i) {
    char small[256], *text = small;
    size_t length = 0;
    tdl_status status = tdl_tokenizer_decode(h->tokenizer, &s->tokens[i], 1, TDL_TEXT_NO_SPECIAL, text, sizeof small, &length, &h->error);
    if (status == TDL_E_BUFFER_TOO_SMALL) {
      if (!(text = malloc(length))) return fail("host", "out of memory");
      status = tdl_tokenizer_decode(h->tokenizer, &s->tokens[i], 1, TDL_TEXT_NO_SPECIAL, text, length, &length, &h->error);
    }
    if (status == TDL_OK) fwrite(text, 1, length, stdout);
    if (text != small) free(text);
    if (status == TDL_E_RANGE) fputs("\xEF\xBF\xBD", stdout);
    else if (!ok(h, status, "decode")) return 0;
  }
  putchar('\n');
  return 1;
}

int main(int argc, char** argv) {
  host h = {0};
  sequence* s;
  int good;
  if (argc < 3) return fail("usage", "batching MODEL_DIRECTORY PROMPT...") + 1;
  tdl_error_init(&h.error, sizeof h.error);
  h.seqs = calloc((size_t)argc - 2, sizeof *h.seqs);
  h.end = h.seqs ? h.seqs + (argc - 2) : NULL;
  good = h.seqs ? open_model(&h, argv[1]) : fail("host", "out of memory");
  for (s = h.seqs; good && s < h.end; ++s) good = add_prompt(&h, s, argv[2 + (s - h.seqs)]);
  while (good && h.num_finished < (unsigned long)argc - 2) good = step(&h);
  for (s = h.seqs; good && s < h.end; ++s) good = print(&h, s);
  if (good) printf("%lu passes, at most %lu sequences side by side\n", h.num_passes, h.most_together);
  if (good && (fflush(stdout) != 0 || ferror(stdout))) good = fail("host", "cannot write the answers");
  tdl_pass_end(h.prefill);
  tdl_pass_end(h.decode);
  tdl_engine_destroy(h.engine);
  tdl_tokenizer_destroy(h.tokenizer);
  tdl_source_destroy(h.source);
  for (s = h.seqs; s < h.end; ++s) {
    free(s->tokens);
    free(s->blocks);
  }
  free(h.seqs);
  free(h.token_ids);
  free(h.block_table);
  return good ? 0 : 1;
}
