/* Treadle: an LLM runtime that its host drives one pass at a time.  This includes every header of libtreadle; text.h belongs to the
 * separate library treadle-text.  Linking: -ltreadle-text -ltreadle (the C++ runtime, pthread, and for a static treadle-text libpcre2-8 and libutf8proc come after
 * them).  The rules that hold for every function are in status.h. */
#ifndef TREADLE_H
#define TREADLE_H
#include "treadle/adapter.h"
#include "treadle/engine.h"
#include "treadle/kv.h"
#include "treadle/pass.h"
#include "treadle/sequence.h"
#include "treadle/source.h"
#include "treadle/status.h"
#endif
