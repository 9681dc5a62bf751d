// config.json of the golden models and of the demo model, as transformers wrote them, on fewer lines.
#pragma once

namespace tdl::test {

struct GoldenConfig {
  const char* name;
  const char* json;
};

inline constexpr GoldenConfig kGoldenConfigs[] = {
    {"llama-hd128-bias", R"(
{"architectures": ["LlamaForCausalLM"], "attention_bias": true, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"bfloat16", "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "mlp_bias": true, "model_type": "llama",
"num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "pretraining_tp": 1,
"rms_norm_eps": 1e-05, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"llama-hd80-f32", R"(
{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"float32", "eos_token_id": 2, "head_dim": 80, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "llama",
"num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 0, "pretraining_tp": 1,
"rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"llama-linear-hd96-f16", R"(
{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"float16", "eos_token_id": 2, "head_dim": 96, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "llama",
"num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 4, "pad_token_id": 0, "pretraining_tp": 1,
"rms_norm_eps": 1e-06, "rope_parameters": {"factor": 4.0, "rope_theta": 10000.0, "rope_type": "linear"},
"tie_word_embeddings": false, "transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"llama-v4", R"(
{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
"eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "llama",
"num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "pretraining_tp": 1,
"rms_norm_eps": 1e-06, "tie_word_embeddings": false, "transformers_version": "4.45.0", "use_cache": true, "vocab_size":
192, "rope_theta": 10000.0, "rope_scaling": null, "torch_dtype": "bfloat16"})"},
    {"llama3-scaled", R"(
{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"bfloat16", "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 96, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "llama",
"num_attention_heads": 6, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "pretraining_tp": 1,
"rms_norm_eps": 1e-06, "rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
"original_max_position_embeddings": 64, "rope_theta": 500000.0, "rope_type": "llama3"}, "tie_word_embeddings": true,
"transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"mistral-window", R"(
{"architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "bfloat16",
"eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "model_type": "mistral", "num_attention_heads": 4,
"num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters":
{"rope_theta": 10000.0, "rope_type": "default"}, "sliding_window": 16, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"mixtral", R"(
{"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "bfloat16",
"eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "max_position_embeddings": 4096, "model_type": "mixtral", "num_attention_heads": 4,
"num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "num_local_experts": 4,
"output_router_logits": false, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0,
"rope_type": "default"}, "router_aux_loss_coef": 0.001, "router_jitter_noise": 0.0, "sliding_window": null,
"tie_word_embeddings": false, "transformers_version": "5.17.0", "use_cache": true, "vocab_size": 192})"},
    {"qwen2-bias", R"(
{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "bfloat16",
"eos_token_id": 2, "hidden_act": "silu", "hidden_size": 256, "initializer_range": 0.15, "intermediate_size": 192,
"layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 4096, "max_window_layers": 28,
"model_type": "qwen2", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0,
"rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}, "sliding_window": null,
"tie_word_embeddings": true, "transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false,
"vocab_size": 192})"},
    {"qwen2-moe-shared", R"(
{"architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "decoder_sparse_step": 2,
"dtype": "bfloat16", "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 256, "initializer_range": 0.15,
"intermediate_size": 192, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
"max_position_embeddings": 4096, "max_window_layers": 28, "mlp_only_layers": [], "model_type": "qwen2_moe",
"moe_intermediate_size": 64, "norm_topk_prob": false, "num_attention_heads": 4, "num_experts": 4, "num_experts_per_tok":
2, "num_hidden_layers": 4, "num_key_value_heads": 2, "output_router_logits": false, "pad_token_id": 0, "qkv_bias": true,
"rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}, "router_aux_loss_coef":
0.001, "shared_expert_intermediate_size": 160, "sliding_window": 0, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 192})"},
    {"qwen2.5-vl-text", R"(
{"architectures": ["Qwen2_5_VLForConditionalGeneration"], "dtype": "bfloat16", "image_token_id": 151655, "model_type":
"qwen2_5_vl", "text_config": {"attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
"hidden_size": 256, "initializer_range": 0.15, "intermediate_size": 192, "layer_types": ["full_attention",
"full_attention"], "max_position_embeddings": 4096, "max_window_layers": 80, "model_type": "qwen2_5_vl_text",
"num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "rms_norm_eps": 1e-06,
"rope_parameters": {"mrope_section": [8, 12, 12], "rope_theta": 1000000.0, "rope_type": "default"}, "sliding_window":
null, "tie_word_embeddings": false, "use_cache": true, "use_sliding_window": false, "vocab_size": 192},
"tie_word_embeddings": false, "transformers_version": "5.17.0", "video_token_id": 151656, "vision_config": {"depth": 1,
"fullatt_block_indexes": [0], "hidden_act": "silu", "hidden_size": 32, "in_channels": 3, "initializer_range": 0.02,
"intermediate_size": 32, "model_type": "qwen2_5_vl_vision", "num_heads": 2, "out_hidden_size": 256, "patch_size": 14,
"rope_parameters": {"rope_theta": 10000.0, "rope_type": "axial"}, "spatial_merge_size": 2, "temporal_patch_size": 2,
"tokens_per_second": 4, "window_size": 112}, "vision_end_token_id": 151653, "vision_start_token_id": 151652})"},
    {"qwen3-hd256", R"(
{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"bfloat16", "eos_token_id": 2, "head_dim": 256, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 4096,
"max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads":
1, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
"sliding_window": null, "tie_word_embeddings": false, "transformers_version": "5.17.0", "use_cache": true,
"use_sliding_window": false, "vocab_size": 192})"},
    {"qwen3-moe-mixed", R"(
{"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
"decoder_sparse_step": 1, "dtype": "bfloat16", "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size":
128, "initializer_range": 0.15, "intermediate_size": 192, "max_position_embeddings": 4096, "mlp_only_layers": [1],
"model_type": "qwen3_moe", "moe_intermediate_size": 96, "norm_topk_prob": false, "num_attention_heads": 4,
"num_experts_per_tok": 4, "num_hidden_layers": 3, "num_key_value_heads": 2, "num_local_experts": 8,
"output_router_logits": false, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0,
"rope_type": "default"}, "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 192})"},
    {"qwen3-moe", R"(
{"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
"decoder_sparse_step": 1, "dtype": "bfloat16", "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size":
128, "initializer_range": 0.15, "intermediate_size": 192, "max_position_embeddings": 4096, "mlp_only_layers": [],
"model_type": "qwen3_moe", "moe_intermediate_size": 96, "norm_topk_prob": true, "num_attention_heads": 4,
"num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "num_local_experts": 8,
"output_router_logits": false, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0,
"rope_type": "default"}, "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 192})"},
    {"qwen3-vl-moe-text", R"(
{"architectures": ["Qwen3VLMoeForConditionalGeneration"], "dtype": "bfloat16", "image_token_id": 151655, "model_type":
"qwen3_vl_moe", "text_config": {"attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
"decoder_sparse_step": 1, "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 128,
"initializer_range": 0.15, "intermediate_size": 192, "max_position_embeddings": 4096, "mlp_only_layers": [],
"model_type": "qwen3_vl_moe_text", "moe_intermediate_size": 96, "norm_topk_prob": true, "num_attention_heads": 4,
"num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "num_local_experts": 8, "pad_token_id": 0,
"rms_norm_eps": 1e-06, "rope_parameters": {"mrope_interleaved": true, "mrope_section": [12, 10, 10], "rope_theta":
1000000.0, "rope_type": "default"}, "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
"use_cache": true, "vocab_size": 192}, "tie_word_embeddings": false, "transformers_version": "5.17.0", "video_token_id":
151656, "vision_config": {"deepstack_visual_indexes": [0], "depth": 1, "hidden_act": "gelu_pytorch_tanh", "hidden_size":
32, "in_channels": 3, "initializer_range": 0.02, "intermediate_size": 32, "model_type": "qwen3_vl_moe_vision",
"num_heads": 2, "num_position_embeddings": 2304, "out_hidden_size": 128, "patch_size": 16, "rope_parameters":
{"rope_theta": 10000.0, "rope_type": "axial"}, "spatial_merge_size": 2, "temporal_patch_size": 2},
"vision_end_token_id": 151653, "vision_start_token_id": 151652})"},
    {"qwen3-vl-text", R"(
{"architectures": ["Qwen3VLForConditionalGeneration"], "dtype": "bfloat16", "image_token_id": 151655, "model_type":
"qwen3_vl", "text_config": {"attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
"head_dim": 64, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15, "intermediate_size": 192,
"max_position_embeddings": 4096, "model_type": "qwen3_vl_text", "num_attention_heads": 4, "num_hidden_layers": 2,
"num_key_value_heads": 2, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"mrope_interleaved": true,
"mrope_section": [12, 10, 10], "rope_theta": 1000000.0, "rope_type": "default"}, "tie_word_embeddings": false,
"use_cache": true, "vocab_size": 192}, "tie_word_embeddings": false, "transformers_version": "5.17.0", "video_token_id":
151656, "vision_config": {"deepstack_visual_indexes": [0], "depth": 1, "hidden_act": "gelu_pytorch_tanh", "hidden_size":
32, "in_channels": 3, "initializer_range": 0.02, "intermediate_size": 32, "model_type": "qwen3_vl_vision", "num_heads":
2, "num_position_embeddings": 2304, "out_hidden_size": 128, "patch_size": 16, "rope_parameters": {"rope_theta": 10000.0,
"rope_type": "axial"}, "spatial_merge_size": 2, "temporal_patch_size": 2}, "vision_end_token_id": 151653,
"vision_start_token_id": 151652})"},
    {"qwen3-yarn-sharded", R"(
{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"bfloat16", "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 4096,
"max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 8, "num_hidden_layers": 2, "num_key_value_heads":
1, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"factor": 4.0, "original_max_position_embeddings": 16,
"rope_theta": 1000000.0, "rope_type": "yarn"}, "sliding_window": null, "tie_word_embeddings": false,
"transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 192})"},
    {"qwen3", R"(
{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype":
"bfloat16", "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 128, "initializer_range": 0.15,
"intermediate_size": 192, "layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 4096,
"max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads":
2, "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
"sliding_window": null, "tie_word_embeddings": false, "transformers_version": "5.17.0", "use_cache": true,
"use_sliding_window": false, "vocab_size": 192})"},
    {"abacus", R"(
{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": null,
"dtype": "bfloat16", "eos_token_id": 0, "head_dim": 64, "hidden_act": "silu", "hidden_size": 192, "initializer_range":
0.02, "intermediate_size": 512, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
"max_position_embeddings": 512, "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 4,
"num_hidden_layers": 4, "num_key_value_heads": 2, "pad_token_id": 1, "rms_norm_eps": 1e-06, "rope_parameters":
{"rope_theta": 10000.0, "rope_type": "default"}, "sliding_window": null, "tie_word_embeddings": true,
"transformers_version": "5.17.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 384})"},
};

}  // namespace tdl::test
