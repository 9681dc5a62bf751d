#include "runtime/model/arch_table.h"

#include <doctest/doctest.h>

#include <string>

using namespace tdl;

TEST_SUITE("arch_table") {
  TEST_CASE("has the dense families under the names that config.json gives them") {
    for (const char* name : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
      CAPTURE(std::string(name));
      const ArchRow* row = find_arch(name);
      REQUIRE(row);
      CHECK(std::string(row->architecture) == name);
    }
    for (const char* name : {"", "Llama", "llamaforcausallm", "LlamaForCausalLM2", "Qwen3MoeForCausalLM", "MixtralForCausalLM",
                             "Qwen2_5_VLForConditionalGeneration"})
      CHECK(find_arch(name) == nullptr);
  }

  TEST_CASE("names the key of every part that the config decides, and no other") {
    for (const char* name : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
      CAPTURE(std::string(name));
      const ArchRow& row = *find_arch(name);
      const bool attention = row.qkv_bias == Presence::by_config || row.o_bias == Presence::by_config;
      CHECK(attention == (row.attention_bias_key != nullptr));
      CHECK((row.mlp_bias == Presence::by_config) == (row.mlp_bias_key != nullptr));
      CHECK(row.qk_norm != Presence::by_config);
    }
  }

  TEST_CASE("patterns of a layer's tensors have one place for its number, the others none") {
    const TensorNames& names = find_arch("Qwen3ForCausalLM")->names;
    for (const char* pattern : {names.attention_norm, names.q, names.k, names.v, names.o, names.q_norm, names.k_norm,
                                names.mlp_norm, names.gate, names.up, names.down}) {
      const std::string text = pattern;
      CHECK(text.find("{}") != std::string::npos);
      CHECK(text.find("{}") == text.rfind("{}"));
    }
    for (const char* name : {names.embed, names.final_norm, names.head}) CHECK(std::string(name).find("{}") == std::string::npos);
  }

  TEST_CASE("lets a checkpoint keep rotary buffers, and the output matrix only when it is tied") {
    for (const bool tied : {false, true}) {
      const IgnoredTensor ignored = ignored_tensors(tied);
      CHECK(ignored("model.layers.0.self_attn.rotary_emb.inv_freq"));
      CHECK(ignored("model.rotary_emb.inv_freq"));
      CHECK_FALSE(ignored("model.layers.0.self_attn.rotary_emb.inv_freq.weight"));
      CHECK_FALSE(ignored("model.embed_tokens.weight"));
      CHECK_FALSE(ignored("lm_head.bias"));
      CHECK_FALSE(ignored("model.lm_head.weight"));
      CHECK(ignored("lm_head.weight") == tied);
    }
  }
}
