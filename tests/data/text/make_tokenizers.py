#!/usr/bin/env python3
"""Writes the tokenizers and the cases that tests/runtime/text reads: gpt2.json, qwen.json, llama3.json, cases.json, variants.json, and of
character_tokenizers.py llama2.json, mistral.json, gemma.json, character_cases.json, character_variants.json.

The Python package `tokenizers` is the judge: it trains small BPE models with the structure of the well-known files (patterns,
normalizer, post-processor, added tokens, both forms of merges), and its answers are the expected ones.  Needs `pip install tokenizers`;
written with the version that cases.json names.  Random text holds only characters of Unicode 3.2, which all Unicode tables agree on.
"""
import copy
import json
import pathlib
import random
import unicodedata

import character_tokenizers as characters
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
ABACUS = HERE.parents[2] / "capi/examples/abacus/model/tokenizer.json"

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")

# A small corpus of many scripts.
TEXTS = [
    "The quick brown fox jumps over the lazy dog. It doesn't care; they're asleep, I'm sure we'll see, and you'd've thought so.",
    "DON'T SHOUT! WE'RE HERE, THEY'LL SAY IT'S FINE. I'D'VE, 'Tis, rock 'n' roll, Ol' 's 'S 'lL 'vE",
    "Un élève naïf déjà vu à Noël: où est la forêt? Ça coûte 12,50 € – « très cher »…",
    unicodedata.normalize("NFD", "Un élève naïf déjà vu à Noël; Ångström, Việt Nam, ǖ, ệ"),
    "Größe, Füße, Straße; señor, mañana, ¿qué?; Łódź, żółw; čeština příliš žluťoučký; İstanbul ılık",
    "Быстрая лиса прыгает через ленивую собаку. Ещё йод, объём, Київ, ґанок; ёж – й\u0306",
    "Η γρήγορη αλεπού πηδάει. Ἀρχιμήδης, ᾳ, ΐ, Ω \u2126, ς σ",
    "الثعلب البني السريع يقفز فوق الكلب الكسول. مُحَمَّد ١٢٣٤ ۱۲۳",
    "השועל החום המהיר קופץ מעל הכלב העצלן. שָׁלוֹם \ufb2a",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। १२३ क\u093c क्षत्रिय",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ ๑๒๓ น้ำ",
    "敏捷的棕色狐狸跳过了懒狗。今天是二〇二五年，価格は１２３円です。",
    "素早い茶色の狐がのろまな犬を飛び越える。カタカナ、ｶﾀｶﾅ、か\u3099が、ヷ",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다. \u1112\u1161\u11ab\u1100\u1173\u11af 각\u11a8 가\u11a7",
    "👩\u200d👩\u200d👧 🇩🇪🇫🇷 👍🏽 ❤\ufe0f 🏴\U000e0067\U000e0062\U000e007f 🙂🙂🙂",
    "def f(x: int) -> str:\n    return f\"{x!r}\"  # comment\n\n\nclass A:\n\tpass\r\n\r\nfor(;;){ i+=1; } /* C */ a->b[i++] != NULL;",
    "{\"key\": [1, 2.5e-3, null], \"b\": true}\n<html><body class='x'>&nbsp;</body></html>\nhttps://example.org/a?b=c&d=%20#e",
    "3.14159 1,000,000 12345678 007 ²³ ½ Ⅷ ① ४५ ๕ ٣ 1st 2nd x2 2x v1.2.3",
    "tabs\tand  two   three    spaces\u00a0nbsp\u2003em\u3000ideographic\u2028line\u2029para\u0085nel\u200bzero\u180evowel",
    "trailing spaces   \n   leading\n\n\n \n\t\n  end  ",
    "a\r\nb\rc\n\rd\r\n\r\ne \r\n f",
]

# Short strings at the edges of the rules.
EDGES = [
    "", " ", "  ", "   ", "\n", "\r\n", " \n", "\n ", "\t", "a", " a", "a ", "  a", "a  b", "a   b", "a\nb", "a \n b", "a\n\n\nb", "   a\n   b", " \n \n ", "\u00a0a", "a\u00a0\u00a0b",
    "\u3000\u3000日本", "'s", "'S", "it's", "IT'S", "'\u017f", "'ll'LL'lL", "x'", "''s", "'re've", " 's", "don''t", "1", "12", "123", "1234", "12345678901", " 1", "  12", "1a2b3c", "٣٤٥", "x²", "½x",
    "!", "!!", "!!!???", " !", "  !", "!\n", "!\n\n", "! \n", "a!b", "--", "=>", "_a_b", "$1.50", "100%", "#tag", "@user", "a.b.c", "...", "。。。", "—x—", "\u200b", "\ufeffa", "\u180ea", "a\u180eb",
    "\u0301", "e\u0301", "\u00e9", "\u212b", "A\u030a", "\u1e9b\u0323", "\u0344", "q\u0307\u0323", "q\u0323\u0307", "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac00\u11a7", "\u1112\u1161", "\u0958", "\u0915\u093c",
    "\U0001d15e", "\u2f81a", "\U0002f81a", "\x00", "a\x00b", "\x01\x02", "\x7f", "\x1b[0m", "ａｂｃ", "ﬁ", "ⅷ", "\U00010400", "\U0001f600", "\U000e0001", "\ue000", "\U0010ffff", "\ufffd", "\u2028", "\u0085", "\x0b\x0c",
    "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|endoftext|><|endoftext|>", "<|endoftext|", "<|im_start|>user\nHi<|im_end|>\n", "<think>\nhm\n</think>\n\nok", "<tool_call>{}</tool_call>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<<|endoftext|>>", "<|<|endoftext|>|>", "é<|im_end|>é", "<|pad|>", "17 + 25 =", "17 + 25 = forty-two", "the", " the", "extraordinary",
    " extraordinary", "Supercalifragilistic", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab", "ÀÀÀÀ", "ЖЖЖ", "日本語日本語", "ไทยไทย", "שלום", "नमस्ते", "안녕하세요", "Γειά",
]


def random_texts(seed, count):
    """Runs of one script after another, with spaces, marks and special tokens between."""
    r = random.Random(seed)
    old = unicodedata.ucd_3_2_0
    usable = [chr(c) for c in range(0x110000) if old.category(chr(c)) not in ("Cn", "Cs")]
    marks = [c for c in usable if unicodedata.combining(c) or unicodedata.decomposition(c)]
    spaces = list(" \t\n\r\v\f\u0085\u00a0\u1680\u180e\u2003\u200b\u2028\u3000")
    runs = [(0x20, 0x7F), (0xA1, 0x17F), (0x300, 0x340), (0x391, 0x3CA), (0x410, 0x450), (0x5D0, 0x5EB), (0x627, 0x64B), (0x904, 0x94D), (0xE01, 0xE3A),
            (0x1100, 0x1112), (0x3041, 0x3094), (0x4E00, 0x4E80), (0xAC00, 0xAC40), (0x660, 0x66A), (0x30, 0x3A)]
    texts = []
    for _ in range(count):
        text = ""
        for _ in range(r.choice([2, 4, 8])):
            kind = r.random()
            if kind < 0.15:
                text += r.choice(EDGES)
            elif kind < 0.35:
                text += "".join(r.choice(spaces if r.random() < 0.3 else "  \n") for _ in range(r.choice([1, 2, 4])))
            elif kind < 0.8:
                low, high = r.choice(runs)
                text += "".join(chr(r.randrange(low, high)) for _ in range(r.choice([1, 2, 5, 9])))
            elif kind < 0.9:
                text += "".join(r.choice(marks) for _ in range(r.choice([1, 3])))
            else:
                text += r.choice(usable)
        texts.append(text)
    return texts


def byte_level(prefix=False, regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(content, token, special=False, **flags):
    entry = {"id": token, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}
    entry.update(flags)
    return entry


def train(pre_tokenizer, normalizer, size):
    """vocab and merges (as pairs) of a model trained on TEXTS."""
    document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
                "post_processor": None, "decoder": byte_level(), "model": json.loads(Tokenizer(models.BPE()).to_str())["model"]}
    tokenizer = Tokenizer.from_str(json.dumps(document))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=size, min_frequency=1, initial_alphabet=alphabet, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [list(pair) for pair in model["merges"]]


def make_gpt2():
    """As GPT-2's own file: no type in the model, merges as lines, empty affixes, the special token in the vocabulary."""
    step = byte_level(regex=True)
    vocab, merges = train(step, None, 1000)
    vocab["<|endoftext|>"] = len(vocab)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added("<|endoftext|>", vocab["<|endoftext|>"], True, normalized=True)],
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
            "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
            "model": {"dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False, "vocab": vocab,
                      "merges": [" ".join(pair) for pair in merges]}}


def make_qwen():
    """As Qwen2.5 and Qwen3: NFC, added tokens behind the vocabulary, some of them not special."""
    steps = sequence(split(QWEN), byte_level())
    vocab, merges = train(steps, {"type": "NFC"}, 1200)
    contents = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"]
    tokens = [added(content, len(vocab) + i, i < 3) for i, content in enumerate(contents)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": {"type": "NFC"}, "pre_tokenizer": steps,
            "post_processor": byte_level(), "decoder": byte_level(),
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                      "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [" ".join(pair) for pair in merges]}}


def make_llama3():
    """As Llama 3: merges as pairs, words that are tokens without any merge leading there, a template that adds BOS."""
    steps = sequence(split(LLAMA3), byte_level())
    vocab, merges = train(steps, None, 1100)
    for word in ["\u0120extraordinary", "aaaaaaaa", "abab", "12", "!!", "\u00e6\u0139\u00a5\u00e6\u013e\u00ac"]:
        vocab.setdefault(word, len(vocab))
    contents = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    tokens = [added(content, len(vocab) + i, True) for i, content in enumerate(contents)]
    begin = {"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 0}}
    text = [{"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB")]
    template = {"type": "TemplateProcessing", "single": [begin, text[0]], "pair": [begin, text[0], begin, text[1]],
                "special_tokens": {"<|begin_of_text|>": {"id": "<|begin_of_text|>", "ids": [tokens[0]["id"]], "tokens": ["<|begin_of_text|>"]}}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": None, "pre_tokenizer": steps,
            "post_processor": {"type": "Sequence", "processors": [byte_level(prefix=True), template]}, "decoder": byte_level(prefix=True, regex=True),
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                      "byte_fallback": False, "ignore_merges": True, "vocab": vocab, "merges": merges}}


def spelled_bytes(tokenizer, token, added_ids):
    """What a token stands for, worked out apart from any decoder."""
    byte_of = {}
    shift = 0
    for byte in range(256):
        prints = 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or byte >= 0xAE
        byte_of[chr(byte) if prints else chr(0x100 + shift)] = byte
        shift += not prints
    content = tokenizer.id_to_token(token)
    return content.encode() if token in added_ids else bytes(byte_of[c] for c in content)


def random_row(tokenizer, document, ids):
    special = {entry["id"]: entry["special"] for entry in document["added_tokens"]}
    kept = [token for token in ids if not special.get(token, False)]
    whole, bare = (b"".join(spelled_bytes(tokenizer, token, special) for token in some) for some in (ids, kept))
    assert tokenizer.decode(ids, skip_special_tokens=False) == whole.decode("utf-8", "replace")
    assert tokenizer.decode(ids, skip_special_tokens=True) == bare.decode("utf-8", "replace")
    return {"ids": ids, "bytes": whole.hex(), "without_special": bare.hex()}


def answers(document, texts, seed, row):
    tokenizer = Tokenizer.from_str(json.dumps(document))
    added_ids = {entry["id"]: entry["special"] for entry in document["added_tokens"]}
    plain = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    result = {"ids": plain, "decoded": {}, "as_text": {}, "added": {}, "random": []}
    for i, text in enumerate(texts):
        decoded = tokenizer.decode(plain[i], skip_special_tokens=False)
        if decoded != text:
            result["decoded"][str(i)] = decoded
        wrapped = tokenizer.encode(text, add_special_tokens=True).ids
        if wrapped != plain[i]:
            result["added"][str(i)] = wrapped
    tokenizer.encode_special_tokens = True
    for i, text in enumerate(texts):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if ids != plain[i]:
            result["as_text"][str(i)] = ids
    if len(result["added"]) == len(texts):  # the same for all: a few show it
        result["added"] = {str(i): result["added"][str(i)] for i in range(0, len(texts), 40)}
    r = random.Random(seed)
    for _ in range(12):
        ids = [r.choice(list(added_ids)) if r.random() < 0.15 else r.randrange(tokenizer.get_vocab_size()) for _ in range(20)]
        result["random"].append(row(tokenizer, document, ids))
    return result


def variants(base):
    """Changes to one tokenizer: a name, and what to put where (JSON pointers)."""
    vocab = base["model"]["vocab"]
    size = len(vocab)
    yield "ByteLevel with a prefix space", {"/pre_tokenizer": byte_level(prefix=True, regex=True)}
    yield "ByteLevel with a prefix space for each piece", {"/pre_tokenizer": sequence(split(LLAMA3), byte_level(prefix=True, regex=True))}
    for behavior in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]:
        for invert in [False, True]:
            name = f"Split {behavior}{' inverted' if invert else ''}"
            yield f"{name} by a Regex", {"/pre_tokenizer": sequence(split(r"\s|\d+", behavior, invert), byte_level())}
            yield f"{name} by a String", {"/pre_tokenizer": sequence(split("a", behavior, invert, "String"), byte_level())}
            yield f"{name} by matches that may be empty", {"/pre_tokenizer": sequence(split(r"e*", behavior, invert), byte_level())}
    yield "Split by the empty String", {"/pre_tokenizer": sequence(split("", kind="String"), byte_level())}
    yield "Split by a String of metacharacters", {"/pre_tokenizer": sequence(split("...", kind="String"), byte_level())}
    yield "Digits one by one", {"/pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, byte_level(regex=True))}
    yield "Digits in runs", {"/pre_tokenizer": sequence({"type": "Digits", "individual_digits": False}, byte_level())}
    yield "a Sequence in a Sequence", {"/pre_tokenizer": sequence(sequence(split(r"[\r\n]"), split(r"\s?\p{L}+")), sequence(split(r"\s?\p{P}+"), byte_level()))}
    yield "a set in a set", {"/pre_tokenizer": sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), byte_level())}
    yield "cased letters and marks", {"/pre_tokenizer": sequence(split(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"), byte_level())}
    yield "scripts, ranges and escapes", {"/pre_tokenizer": sequence(split(r"\p{Han}+|[ぁ-ゟ゠-ヿ]+|[^\x00-\x7f\p{^L}]{2,}|\u0041|\x{42}+|[a\-z\]]"), byte_level())}
    yield "lines, looks and possessives", {"/pre_tokenizer": sequence(split(r"^ +| +$|(?<=\n)a|(?<!b)c.|(?>x+)|\p{L}++'|\S+?e|b{,2}o"), byte_level())}
    for form in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase"]:
        yield f"normalizer {form}", {"/normalizer": {"type": form}}
    yield "normalizers in a row", {"/normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "x "}, {"type": "Replace", "pattern": {"String": "aa"}, "content": "b "}]}}
    tokens = [("<a>", {}), ("<ab", {}), ("<abc>", {"special": True}), ("  ", {}), ("<l>", {"lstrip": True}), ("<r>", {"rstrip": True, "special": True}),
              ("<lr>", {"lstrip": True, "rstrip": True, "normalized": True}), ("word", {"single_word": True}), ("日本", {"single_word": True, "normalized": True}),
              ("\n", {"rstrip": True}), ("Fi", {"normalized": True, "special": True}), (" y", {})]
    entries = base["added_tokens"] + [added(content, size + i, **flags) for i, (content, flags) in enumerate(tokens)]
    yield "added tokens with flags", {"/added_tokens": entries}
    yield "added tokens that are normalized", {"/added_tokens": entries, "/normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}}
    yield "added tokens with gaps in their ids", {"/added_tokens": base["added_tokens"] + [added("<a>", size + 50), added("<l>", size + 20)]}
    used = {token for merge in base["model"]["merges"] for token in merge.split(" ")}
    rare = [token for token in ["\u0122", "\u00bf", "X", "~", "^"] if token not in used]
    assert rare
    holes = {token: i for token, i in vocab.items() if token not in rare}
    for fuse in [False, True]:
        yield f"unknown bytes{', fused' if fuse else ''}", {"/model/vocab": holes, "/model/unk_token": "?", "/model/fuse_unk": fuse}
    odd = dict(vocab)
    for token in ["aa", "aaa", "aaaa", "ab", "ba", "aba", "bab", "abab"]:
        odd.setdefault(token, len(odd))
    merges = ["a aa", "aa a", "a a", "aa aa", "b ab", "a b", "ab ab", "a bab", "ab a", "a a", "#version: 0.2"] + base["model"]["merges"] + ["aa aa"]
    yield "merges that compete for a token", {"/model/vocab": odd, "/model/merges": merges, "/added_tokens": []}
    yield "merges that compete, ignored for whole words", {"/model/vocab": odd, "/model/merges": merges, "/model/ignore_merges": True, "/added_tokens": []}
    yield "BOS and EOS", {"/post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "b", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                          {"SpecialToken": {"id": "e", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                          "special_tokens": {"b": {"id": "b", "ids": [5, 6], "tokens": ["x", "y"]}, "e": {"id": "e", "ids": [7], "tokens": ["z"]}}}}


VARIANT_TEXTS = [
    "", " ", "a", "a b  c", " It's 12 345 a1 \n x", "the end...\r\n\r\n  of", "aabab aaaaa abababa", "eee ee e  eaea", "日本 日本語 日本", "word words sword word, (word)", "<a> <abc> <ab <abcd  <l>x",
    "x <l>\n<r>  y<r> \t<lr> z  yy", "\n\n \n a", "Ünïté ﬁn Ⅷ ｱ İ ǅ", "e\u0301a\u030a \u1100\u1161\u11a8", "¿X~^^~XX?\x00", "don't DON'T 'LL", "  indent\n    deeper  ", "Fi fi FI ﬁ", "ab A BB ]-z xx y\u00a0w"
]


def put(document, pointer, value):
    *path, last = pointer.strip("/").split("/")
    for name in path:
        document = document[name]
    document[last] = value


def write(name, value, **options):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), **options)
    (HERE / name).write_text(text + "\n", encoding="utf-8")


def listed_variants(base, variants, texts, decode):
    listed = []
    for name, changes in variants:
        document = copy.deepcopy(base)
        for pointer, value in changes.items():
            put(document, pointer, value)
        tokenizer = Tokenizer.from_str(json.dumps(document))
        if "/model/vocab" in changes:  # only what differs from the base goes into the file
            vocab = changes.pop("/model/vocab")
            changes["without"] = [token for token in base["model"]["vocab"] if token not in vocab]
            changes["with"] = {token: i for token, i in vocab.items() if token not in base["model"]["vocab"]}
        if "/model/merges" in changes:
            changes["first_merges"] = changes.pop("/model/merges")[:11]
            changes["last_merges"] = ["aa aa"]
        listed.append({"name": name, "changes": changes, "ids": [tokenizer.encode(text).ids for text in texts]})
        # A normalized added token decodes to its normalized content in the package, and is not left out as special: not here.
        if decode and not any(entry["normalized"] for entry in document["added_tokens"]):
            for key, skip in (("decoded", False), ("bare", True)):
                listed[-1][key] = [tokenizer.decode(ids, skip_special_tokens=skip) for ids in listed[-1]["ids"]]
    return {"texts": texts, "variants": listed}


def main():
    documents = {"gpt2": make_gpt2(), "qwen": make_qwen(), "llama3": make_llama3()}
    for name, document in documents.items():
        write(f"{name}.json", document)
    documents["abacus"] = json.loads(ABACUS.read_text(encoding="utf-8"))
    texts = TEXTS + EDGES + random_texts(7, 200)
    cases = {"tokenizers": tokenizers.__version__, "texts": texts}
    for seed, (name, document) in enumerate(documents.items()):
        cases[name] = answers(document, texts, seed, random_row)
    write("cases.json", cases)
    base = documents["gpt2"]
    write("variants.json", listed_variants(base, variants(base), VARIANT_TEXTS + random_texts(11, 12), False))

    documents = {"llama2": characters.make_llama2(TEXTS, added), "mistral": characters.make_mistral(TEXTS, added), "gemma": characters.make_gemma(TEXTS, added)}
    texts = TEXTS + EDGES + characters.TEXTS + random_texts(13, 150)
    cases = {"tokenizers": tokenizers.__version__, "texts": texts}
    for seed, (name, document) in enumerate(documents.items()):
        write(f"{name}.json", document)
        cases[name] = answers(document, texts, seed, characters.random_row)
    write("character_cases.json", cases)
    base = documents["llama2"]
    write("character_variants.json", listed_variants(base, characters.variants(base, added, split), characters.VARIANT_TEXTS + random_texts(17, 6), True))


if __name__ == "__main__":
    main()
