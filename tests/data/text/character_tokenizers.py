"""The part of make_tokenizers.py for tokenizers that spell characters, not bytes: the structures of Llama 2, Mistral and Gemma, with the
space written as U+2581 and tokens <0x00> ... <0xFF> for the bytes of characters that have no token of their own.
"""
import json
import re

from tokenizers import Tokenizer, models, trainers

UNDER = "\u2581"

# Texts that only matter to these tokenizers.
TEXTS = [
    "<s>", "<s>a", "a<s>b", " <s> ", "<s> a", "<s></s>", "a</s> <s> b", "<unk>", "\u2581", "\u2581a", " \u2581a", "a\u2581\u2581b", "\u2581 \u2581", "<0x41>", "<0x0A>", "a<0xFF>", "[INST] Hi [/INST]",
    "[INST]  two  [/INST]a", "x [INST]", "<start_of_turn>user\nHi<end_of_turn>\n", "\n\n\n\n\n", "a\n\nb", "\t\t\t", "    x", "        y = 1", "  <b>bold</b> ", "the\u00a0end",
    "\u0e3f\u20bf\u2c60\ua4d0", "\U00013000\U0001f9ff", "a\U0001f9ff b \u0b85", "\u2581\U0001f9ff\u2581",
]

VARIANT_TEXTS = [
    "", " ", "  ", "a", " a", "a b", "a  b   c", "\u2581a \u2581", "the end. The 12 345", "<s>a b", "a<s>b <s> c", "x <l>y  <r> z <l> <r>", "<n>a <n> b<n>c", "one two three", "\u65e5\u672c \u00e9t\u00e9 na\u00efve",
    "\U0001f9ff\u0b85a\u0b85\u0b85 \U0001f9ff\U0001f9ff", "\u00e9\U0001f9ff\u00e9", "\n\n a\n", "def f(x):\n    return x", "a_b__c", "\ufb01n \u2167", "12a34", "word words <s>word", "x\u00a0y\u3000z", "\u0416\u0416 \u05e9\u05dc",
]


def replace(pattern, content):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def metaspace(**fields):
    return {"type": "Metaspace", "replacement": UNDER, **fields}


def decoders(*steps):
    return {"type": "Sequence", "decoders": list(steps)}


def normalizers(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
LLAMA_DECODER = decoders(replace(UNDER, " "), BYTES, FUSE, STRIP)


def train(texts, size, specials):
    """vocab and merges, numbered as sentencepiece numbers them: specials, bytes, merged tokens, then the characters seen twice."""
    split = {"type": "Split", "pattern": {"Regex": f"{UNDER}+[^{UNDER}]*|\n+"}, "behavior": "Isolated", "invert": False}
    document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": replace(" ", UNDER), "pre_tokenizer": split,
                "post_processor": None, "decoder": None, "model": json.loads(Tokenizer(models.BPE()).to_str())["model"]}
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.train_from_iterator(texts * 3, trainers.BpeTrainer(vocab_size=size, min_frequency=2, limit_alphabet=220, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    characters = sorted(token for token in model["vocab"] if len(token) == 1)
    tokens = specials + [f"<0x{byte:02X}>" for byte in range(256)] + ["".join(pair) for pair in model["merges"]] + characters
    vocab = {}
    for token in tokens:
        vocab.setdefault(token, len(vocab))
    return vocab, [list(pair) for pair in model["merges"]]


def document(vocab, merges, added_tokens, **parts):
    bos = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [bos, text], "pair": [bos, text, bos, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [vocab["<s>"]], "tokens": ["<s>"]}}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens, "normalizer": parts["normalizer"],
            "pre_tokenizer": parts["pre_tokenizer"], "post_processor": template, "decoder": parts["decoder"],
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                      "byte_fallback": True, "ignore_merges": parts.get("ignore_merges", False), "vocab": vocab, "merges": merges}}


def make_llama2(texts, added):
    """As Llama 2: a normalizer that writes the spaces, no pre-tokenizer, so a whole text is one word; merges as lines."""
    vocab, merges = train(texts, 1000, ["<unk>", "<s>", "</s>"])
    specials = [added(content, i, True) for i, content in enumerate(["<unk>", "<s>", "</s>"])]
    return document(vocab, [" ".join(pair) for pair in merges], specials, normalizer=normalizers({"type": "Prepend", "prepend": UNDER}, replace(" ", UNDER)),
                    pre_tokenizer=None, decoder=LLAMA_DECODER)


def make_mistral(texts, added):
    """As Mistral's later files: Metaspace at the start of the text only, control tokens, merges as pairs."""
    specials = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    vocab, merges = train(texts, 1000, specials)
    return document(vocab, merges, [added(content, i, True) for i, content in enumerate(specials)], normalizer=None,
                    pre_tokenizer=metaspace(prepend_scheme="first", split=False), decoder=LLAMA_DECODER, ignore_merges=True)


def make_gemma(texts, added):
    """As Gemma: nothing before the text, runs of spaces and line ends as added tokens of the model, nothing stripped."""
    specials = ["<pad>", "<eos>", "<s>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    runs = ["\n\n", "\n\n\n\n", UNDER * 2, UNDER * 4, "<b>", "</b>"]
    vocab, merges = train(texts, 1000, specials + runs)
    tokens = [added(content, i, True) for i, content in enumerate(specials)] + [added(content, vocab[content]) for content in runs]
    return document(vocab, merges, tokens, normalizer=replace(" ", UNDER),
                    pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
                    decoder=decoders(replace(UNDER, " "), BYTES, FUSE))


def token_bytes(token, content, of_model, special):
    """What a token stands for, worked out apart from any decoder."""
    if special or not of_model:
        return content.encode()
    match = re.fullmatch("<0x([0-9A-F]{2})>", content)
    return bytes([int(match[1], 16)]) if match else content.replace(UNDER, " ").encode()


def random_row(tokenizer, document, ids):
    """The bytes of any ids, with and without the special ones; as far as the package can say it, it must agree."""
    special = {entry["id"]: entry["special"] for entry in document["added_tokens"]}
    vocab = document["model"]["vocab"]
    row = {"ids": ids}
    for key, kept in (("bytes", ids), ("without_special", [token for token in ids if not special.get(token, False)])):
        contents = [tokenizer.id_to_token(token) for token in kept]
        parts = [token_bytes(token, content, content in vocab, special.get(token, False)) for token, content in zip(kept, contents)]
        whole = b"".join(parts)
        shown, run = "", b""
        for content, part in list(zip(contents, parts)) + [("", b"")]:
            if re.fullmatch("<0x..>", content):
                run += part
                continue
            try:
                shown += run.decode()
            except UnicodeDecodeError:
                shown += "\ufffd" * len(run)
            shown, run = shown + part.decode(), b""
        if document["decoder"] == LLAMA_DECODER:
            whole, shown = whole.removeprefix(b" "), shown.removeprefix(" ")
        assert tokenizer.decode(ids, skip_special_tokens=key == "without_special") == shown
        row[key] = whole.hex()
    return row


def variants(base, added, split):
    """Changes to the structure of Llama 2: a name, and what to put where (JSON pointers)."""
    vocab = base["model"]["vocab"]
    size = len(vocab)

    def cut(*steps, decoder=None, normalizer=None):
        step = steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": list(steps)}
        return {"/normalizer": normalizer, "/pre_tokenizer": step, "/decoder": decoder or LLAMA_DECODER}

    for scheme in ["always", "first", "never"]:
        for divided in [True, False]:
            fields = {"prepend_scheme": scheme, "split": divided}
            yield f"Metaspace {scheme}{', split' if divided else ''}", cut(metaspace(**fields), decoder=decoders(metaspace(**fields), BYTES, FUSE))
    yield "Metaspace as old files have it", cut(metaspace(add_prefix_space=True), decoder=decoders(metaspace(add_prefix_space=True), BYTES))
    yield "Metaspace without a decoder for bytes", cut(metaspace(prepend_scheme="first"), decoder=metaspace(prepend_scheme="first"))
    yield "Metaspace with another character", cut({**metaspace(prepend_scheme="always"), "replacement": "_"}, decoder=decoders(BYTES, FUSE))
    yield "Metaspace twice", cut(metaspace(prepend_scheme="never"), metaspace(prepend_scheme="first", split=False))
    yield "Metaspace behind Digits", cut({"type": "Digits", "individual_digits": True}, metaspace(prepend_scheme="first"))
    yield "Metaspace before a Split", cut(metaspace(prepend_scheme="first", split=False), split("[\u2581a-c]+"))
    yield "Metaspace behind a Split that removes", cut(split("a|<", "Removed"), metaspace(prepend_scheme="first"))
    yield "Metaspace behind a Split for each piece", cut(split(r"\s+"), metaspace(prepend_scheme="always"))
    yield "Prepend without Replace", {"/normalizer": {"type": "Prepend", "prepend": UNDER}}
    yield "Replace and normal forms", {"/normalizer": normalizers({"type": "NFKC"}, replace(" ", UNDER), {"type": "Lowercase"})}
    yield "Prepend of more, and Replace of more", {"/normalizer": normalizers({"type": "Prepend", "prepend": "a a"}, replace("a ", "\u00e9 "), replace(" ", UNDER))}
    yield "Strip of more than one", {"/decoder": decoders(replace(UNDER, " "), BYTES, FUSE, {**STRIP, "start": 3})}
    yield "Strip of a letter, behind another Replace", {"/decoder": decoders(replace(UNDER, "a"), replace("th", "\u65e5"), FUSE, {**STRIP, "content": "a"})}
    flagged = base["added_tokens"] + [added("<l>", size, lstrip=True), added("<r>", size + 1, special=True, rstrip=True), added("<n>", size + 2, normalized=True),
                                      added("one", size + 3, normalized=True), added("two", size + 4, single_word=True), added("  ", size + 5)]
    yield "added tokens with flags", {"/added_tokens": flagged}
    yield "added tokens with flags, Metaspace first", {"/added_tokens": flagged, **cut(metaspace(prepend_scheme="first"))}
    yield "added tokens with flags, Metaspace always", {"/added_tokens": flagged, **cut(metaspace(prepend_scheme="always", split=False))}
    yield "added tokens without a Prepend", {"/added_tokens": flagged, "/normalizer": replace(" ", UNDER)}
    yield "special tokens that are normalized", {"/added_tokens": [{**entry, "normalized": True} for entry in base["added_tokens"]]}
    yield "words that are tokens, no merges", {"/model/ignore_merges": True, **cut(metaspace(prepend_scheme="always"))}
    used = {token for merge in base["model"]["merges"] for token in merge.split(" ")}
    missing = {"<0x9F>", "<0xA7>"} | {token for token in ["J", "Q", "\u65e5", "\u0416", "3"] if token not in used}
    holes = {token: i for token, i in vocab.items() if token not in missing}
    for fuse in [False, True]:
        name = ", fused" if fuse else ""
        yield f"unknown characters beside bytes{name}", {"/model/vocab": holes, "/model/fuse_unk": fuse}
        yield f"no byte fallback{name}", {"/model/byte_fallback": False, "/model/fuse_unk": fuse}
        yield f"no byte fallback, words{name}", {"/model/byte_fallback": False, "/model/fuse_unk": fuse, **cut(metaspace(prepend_scheme="first"))}
