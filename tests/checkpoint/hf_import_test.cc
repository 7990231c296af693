#include "checkpoint/hf_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

using ::dt::testing::TempFolder;
using nlohmann::json;

Gpt2Shape SmallShape() {
  return {.n_layer = 2,
          .n_head = 2,
          .n_embd = 4,
          .n_ff = 6,
          .n_positions = 3,
          .vocab_size = 5,
          .vocab_pad = 8,
          .tie_head = true,
          .activation = "gelu_new"};
}

struct Stored {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
};

class HfImportTest : public ::testing::Test {
 protected:
  // Returns the tensors that a file of this shape has; the tests change them.
  static std::vector<Stored> Tensors(const Gpt2Shape& shape, bool prefixed = true) {
    std::vector<Stored> stored;
    for (const Gpt2Tensor& tensor : Gpt2Tensors(shape)) {
      stored.push_back({prefixed ? tensor.theirs : tensor.ours, tensor.their_shape});
    }
    return stored;
  }
  // Writes zeros only, except for the tensor `odd`.
  void Write(const std::vector<Stored>& stored, const std::string& odd = "") {
    const std::vector<char> zeros(4096), others(4096, 1);
    std::vector<TensorRef> refs;
    refs.reserve(stored.size());
    for (const Stored& one : stored) {
      refs.push_back(
          {one.name, one.dtype, one.shape, one.name == odd ? others.data() : zeros.data()});
    }
    ASSERT_TRUE(WriteSafetensors(folder_ / "model.safetensors", refs).ok());
  }
  void ExpectRefused(absl::StatusCode kind, const std::string& said,
                     const Gpt2Shape& shape = SmallShape()) {
    const absl::StatusOr<HfWeights> refused = OpenHuggingFace(folder_.path(), shape);
    ASSERT_FALSE(refused.ok()) << said;
    EXPECT_EQ(refused.status().code(), kind) << refused.status();
    EXPECT_NE(refused.status().message().find(said), std::string::npos) << refused.status();
  }
  TempFolder folder_;
};

TEST_F(HfImportTest, FindsEveryTensorWithOrWithoutThePrefix) {
  for (const bool prefixed : {true, false}) {
    Write(Tensors(SmallShape(), prefixed));
    const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), SmallShape());
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->matches.size(), 28u);
    for (const HfWeights::Match& match : found->matches) {
      EXPECT_TRUE(match.entry.name.ends_with(match.tensor.ours)) << match.entry.name;
    }
  }
}

TEST_F(HfImportTest, SkipsMasksAndTheTiedHead) {
  std::vector<Stored> stored = Tensors(SmallShape(), false);
  stored.push_back({"h.0.attn.bias", {1, 1, 3, 3}});
  stored.push_back({"h.1.attn.masked_bias", {}});
  stored.push_back({"lm_head.weight", {5, 4}});
  Write(stored);
  const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), SmallShape());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->matches.size(), 28u);
}

TEST_F(HfImportTest, PrefixesOfOtherProgramsAreNotPartOfANames) {
  for (const std::string prefix : {"_orig_mod.", "module.", "model.", "_orig_mod.module.",
                                   "module._orig_mod.transformer.", "model.transformer."}) {
    std::vector<Stored> stored = Tensors(SmallShape(), false);
    for (Stored& one : stored) one.name.insert(0, prefix);
    stored.push_back({prefix + "lm_head.weight", {5, 4}});
    stored.push_back({prefix + "h.0.attn.bias", {1, 1, 3, 3}});
    Write(stored);
    const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), SmallShape());
    ASSERT_TRUE(found.ok()) << prefix << ": " << found.status();
    EXPECT_EQ(found->matches.size(), 28u);
  }
}

TEST_F(HfImportTest, ATensorUnderTwoPrefixesIsRefused) {
  std::vector<Stored> stored = Tensors(SmallShape());
  stored.push_back({"module.wte.weight", {5, 4}});
  Write(stored);
  ExpectRefused(kDataError, "'module.wte.weight' and 'transformer.wte.weight' are the same one");
}

TEST_F(HfImportTest, AHeadThatDiffersFromTheEmbeddingIsNotDropped) {
  std::vector<Stored> stored = Tensors(SmallShape());
  stored.push_back({"lm_head.weight", {5, 4}});
  Write(stored, /*odd=*/"lm_head.weight");
  ExpectRefused(kConfigError,
                "'lm_head.weight' is not 'transformer.wte.weight' there, and the head of this "
                "experiment's model is the embedding (model.tie_head true); set model.tie_head to "
                "false");
  Gpt2Shape untied = SmallShape();
  untied.tie_head = false;
  const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), untied);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->matches.back().entry.name, "lm_head.weight");
}

TEST_F(HfImportTest, ProjectionsMayLieAsTorchHasThem) {
  std::vector<Stored> stored = Tensors(SmallShape(), false);
  for (Stored& one : stored) {
    if (one.name.find("c_") != std::string::npos) std::reverse(one.shape.begin(), one.shape.end());
  }
  Write(stored);
  const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), SmallShape());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->our_layout);
  for (const HfWeights::Match& match : found->matches) {
    EXPECT_FALSE(match.tensor.transposed) << match.tensor.ours;
  }
  Gpt2Shape other = SmallShape();
  other.n_ff = 7;
  ExpectRefused(kConfigError, "is [6, 4] there and [7, 4] in this experiment; set model.n_ff to 6",
                other);
  for (Stored& one : stored) {
    if (one.name == "h.1.mlp.c_fc.weight") std::reverse(one.shape.begin(), one.shape.end());
  }
  Write(stored);
  ExpectRefused(kDataError, "'h.1.mlp.c_fc.weight' is [4, 6] there, transposed");
}

TEST_F(HfImportTest, AdviceNeverNamesAValueThatTheFieldCannotHave) {
  Write({{"layers.0.self_attn.q_proj.weight", {4, 4}}, {"embed.weight", {5, 4}}});
  ExpectRefused(kDataError, "it has no tensors of a GPT-2's layers");
  Write({{"wte.weight", {5, 4}}});
  ExpectRefused(kDataError, "its first ones are 'wte.weight'");
  std::vector<Stored> stored = Tensors(SmallShape());
  for (Stored& one : stored) {
    if (one.name.starts_with("transformer.h.1.")) one.name.replace(14, 1, "900000");
  }
  Write(stored);
  ExpectRefused(kDataError, "not numbered one after another");
}

TEST_F(HfImportTest, AnUntiedHeadBeginsAsTheEmbeddingIfTheFileHasNone) {
  Write(Tensors(SmallShape()));
  Gpt2Shape untied = SmallShape();
  untied.tie_head = false;
  const absl::StatusOr<HfWeights> found = OpenHuggingFace(folder_.path(), untied);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->matches.back().tensor.ours, "lm_head.weight");
  EXPECT_EQ(found->matches.back().entry.name, "transformer.wte.weight");
}

TEST_F(HfImportTest, TakesAnEmbeddingWithPaddedRowsToo) {
  std::vector<Stored> stored = Tensors(SmallShape());
  stored[0].shape = {8, 4};
  Write(stored);
  EXPECT_TRUE(OpenHuggingFace(folder_.path(), SmallShape()).ok());
}

TEST_F(HfImportTest, NamesBothShapesAndTheFieldToChange) {
  const std::pair<std::function<void(Gpt2Shape&)>, const char*> cases[] = {
      {[](Gpt2Shape& s) { s.n_layer = 3; }, "3 there and 2 in this experiment; set model.n_layer"},
      {[](Gpt2Shape& s) { s.vocab_size = 6; },
       "'transformer.wte.weight' is [6, 4] there and [5, 4] in this experiment; set "
       "model.vocab_size to 6"},
      {[](Gpt2Shape& s) { s.n_embd = 2; }, "set model.n_embd to 2"},
      {[](Gpt2Shape& s) { s.n_positions = 9; }, "set model.n_positions to 9"},
      {[](Gpt2Shape& s) { s.n_ff = 7; }, "set model.n_ff to 7"},
  };
  for (const auto& [change, said] : cases) {
    Gpt2Shape other = SmallShape();
    change(other);
    Write(Tensors(other));
    ExpectRefused(kConfigError, said);
  }
}

TEST_F(HfImportTest, ReadsSettingsThatShapesDoNotShowFromTheConfiguration) {
  Write(Tensors(SmallShape()));
  const std::pair<json, const char*> cases[] = {
      {{{"n_head", 4}}, "set model.n_head to 4"},
      {{{"activation_function", "relu"}}, "set model.activation to relu"},
      {{{"tie_word_embeddings", false}}, "set model.tie_head to false"},
      {{{"layer_norm_epsilon", 1e-6}}, "layer_norm_epsilon is 1e-06 there"},
      {{{"scale_attn_by_inverse_layer_idx", true}}, "scale_attn_by_inverse_layer_idx is true"},
      {{{"scale_attn_weights", false}}, "scale_attn_weights is false"},
  };
  for (const auto& [config, said] : cases) {
    folder_.Write("config.json", config.dump());
    ExpectRefused(kConfigError, said);
  }
  for (const char* heads : {"0", "-5", "9223372036854775808"}) {
    folder_.Write("config.json", std::string(R"({"n_head": )") + heads + "}");
    ExpectRefused(kDataError, std::string("n_head is ") + heads + ", which is no number of heads");
  }
  folder_.Write("config.json", R"({"model_type": "llama"})");
  ExpectRefused(kDataError, "of type 'llama'");
  folder_.Write("config.json", R"({"n_head": 2, "layer_norm_epsilon": "small"})");
  ExpectRefused(kDataError, "a value of the wrong kind");
  folder_.Write("config.json", "{");
  ExpectRefused(kDataError, "is not a JSON object");
  folder_.Write("config.json", Gpt2Config(SmallShape()));
  EXPECT_TRUE(OpenHuggingFace(folder_.path(), SmallShape()).ok());
}

TEST_F(HfImportTest, TextsOfItsFilesAreShownShortAndWithoutControlCharacters) {
  std::vector<Stored> stored = Tensors(SmallShape());
  Write(stored);
  folder_.Write("config.json", R"({"model_type": "neo\n\u001b[31m"})");
  ExpectRefused(kDataError, "of type 'neo \\x1b[31m'");
  folder_.Write("config.json", json{{"activation_function", std::string(100'000, 'a')}}.dump());
  ExpectRefused(kConfigError, "aaa…'");
  const absl::StatusOr<HfWeights> refused = OpenHuggingFace(folder_.path(), SmallShape());
  EXPECT_LT(refused.status().message().size(), 1000u);
  folder_.Write("config.json", "{}");
  stored.push_back({std::string("score\0weight", 12), {2, 4}});
  Write(stored);
  ExpectRefused(kDataError, "the tensor 'score\\x00weight'");
}

TEST_F(HfImportTest, RefusesAbsentDamagedAndForeignFiles) {
  ExpectRefused(kDataError, "model.safetensors");
  folder_.Write("model.safetensors", "no such thing");
  ExpectRefused(kDataError, "says that its header has");
  std::vector<Stored> stored = Tensors(SmallShape());
  stored.erase(stored.begin() + 1);
  Write(stored);
  ExpectRefused(kDataError, "has no tensor 'transformer.wpe.weight'");
  stored = Tensors(SmallShape());
  stored.push_back({"score.weight", {2, 4}});
  Write(stored);
  ExpectRefused(kDataError, "the tensor 'score.weight'");
  stored = Tensors(SmallShape());
  stored[2].dtype = DType::kI32;
  Write(stored);
  ExpectRefused(kDataError, "is I32; F32, F16 and BF16 are read");
}

}  // namespace
}  // namespace dt::checkpoint
