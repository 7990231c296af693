#include "checkpoint/hf_export.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/hf_gpt2.h"
#include "tests/checkpoint/checkpoint_builder.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;
using nlohmann::json;

json SmallModel() {
  return {{"n_layer", 2u},   {"n_head", 2u},          {"n_embd", 4u},
          {"n_ff", 6u},      {"n_positions", 3u},     {"vocab_size", 5u},
          {"vocab_pad", 8u}, {"tie_head", true},      {"head_bias", false},
          {"bias", true},    {"norm", "pre"},         {"activation", "gelu_tanh"},
          {"dropout", 0.1},  {"positions", "learned"}};
}

size_t Count(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}
// Returns element i of our tensor number k.
float Value(size_t k, size_t i) { return static_cast<float>(k) * 1e5F + static_cast<float>(i); }

class HfExportTest : public ::testing::Test {
 protected:
  // Saves a checkpoint of this model; its tensors are those that the exporter expects.
  std::string Save(const json& model, const json& said) {
    const std::vector<Gpt2Tensor> tensors = Gpt2Tensors(*Gpt2ShapeOf(model));
    std::vector<std::vector<float>> data;
    for (const Gpt2Tensor& tensor : tensors) {
      std::vector<float>& values = data.emplace_back(Count(tensor.our_shape));
      for (size_t i = 0; i < values.size(); ++i) values[i] = Value(data.size() - 1, i);
    }
    std::vector<TensorRef> refs;
    for (size_t k = 0; k < tensors.size(); ++k) {
      refs.push_back({tensors[k].ours, DType::kF32, tensors[k].our_shape, data[k].data()});
    }
    absl::StatusOr<CheckpointWriter> writer = CheckpointWriter::Begin(folder_.path(), IdOf(500));
    EXPECT_TRUE(writer->AddTensors("model.safetensors", refs).ok());
    Manifest manifest;
    manifest.model = said;
    manifest.loss = 2.5;
    EXPECT_TRUE(writer->Commit(manifest).ok());
    return folder_ / IdOf(500).Path();
  }
  std::string Save(const json& model = SmallModel()) { return Save(model, model); }
  absl::StatusOr<HfExport> Export(const std::string& checkpoint) {
    return ExportHuggingFace({checkpoint, out_, {}, {}});
  }
  void ExpectRefused(const std::string& checkpoint, const std::string& said) {
    const absl::StatusOr<HfExport> refused = Export(checkpoint);
    ASSERT_FALSE(refused.ok()) << said;
    EXPECT_NE(refused.status().message().find(said), std::string::npos) << refused.status();
    EXPECT_FALSE(std::filesystem::exists(out_));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}), 0);
  }
  // Expects that every element in the exported folder is at its place.
  void ExpectTurned(const json& model) {
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(out_ + "/model.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    const std::vector<Gpt2Tensor> tensors = Gpt2Tensors(*Gpt2ShapeOf(model));
    for (size_t k = 0; k < tensors.size(); ++k) {
      const TensorEntry* entry = file->Find(tensors[k].theirs);
      ASSERT_NE(entry, nullptr) << tensors[k].theirs;
      ASSERT_EQ(entry->shape, tensors[k].their_shape) << entry->name;
      std::vector<float> read(Count(entry->shape));
      ASSERT_TRUE(file->Read(*entry, read.data()).ok());
      for (size_t i = 0; i < read.size(); ++i) {
        size_t ours = i;
        if (tensors[k].transposed) {
          const auto out = static_cast<size_t>(tensors[k].our_shape[0]);
          const auto in = static_cast<size_t>(tensors[k].our_shape[1]);
          ours = i % out * in + i / out;
        }
        ASSERT_EQ(read[i], Value(k, ours)) << entry->name << " " << i;
      }
    }
  }

  TempFolder folder_;
  const std::string out_ = [this] {
    std::filesystem::create_directory(folder_ / "out");
    return folder_ / "out/gpt2";
  }();
};

TEST_F(HfExportTest, WritesTheNamesAndShapesOfHuggingFace) {
  const absl::StatusOr<HfExport> done = Export(Save());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->step, 500u);
  EXPECT_EQ(done->loss, 2.5);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(out_ + "/model.safetensors");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  std::set<std::string> names;
  for (const TensorEntry& entry : file->tensors()) names.insert(entry.name);
  const std::vector<std::string> parts = {"attn.c_attn", "attn.c_proj", "ln_1",
                                          "ln_2",        "mlp.c_fc",    "mlp.c_proj"};
  std::set<std::string> expected = {"transformer.wte.weight", "transformer.wpe.weight",
                                    "transformer.ln_f.weight", "transformer.ln_f.bias"};
  for (const std::string& part : parts) {
    for (const char* block : {"transformer.h.0.", "transformer.h.1."}) {
      expected.insert(block + part + ".weight");
      expected.insert(block + part + ".bias");
    }
  }
  EXPECT_EQ(names, expected);
  const auto shape = [&](const std::string& name) { return file->Find(name)->shape; };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shape("transformer.wte.weight"), (Shape{5, 4})) << "padded rows are dropped";
  EXPECT_EQ(shape("transformer.h.0.attn.c_attn.weight"), (Shape{4, 12})) << "[in, out]";
  EXPECT_EQ(shape("transformer.h.0.mlp.c_fc.weight"), (Shape{4, 6}));
  EXPECT_EQ(shape("transformer.h.0.mlp.c_proj.weight"), (Shape{6, 4}));
  EXPECT_EQ(done->parameters, (5 + 3) * 4 + 2 * (4 * 4 + 48 + 12 + 16 + 4 + 24 + 6 + 24 + 4) + 8u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}), 1);
}

TEST_F(HfExportTest, TransposesProjectionsAndLeavesTheRestAsItLies) {
  ASSERT_TRUE(Export(Save()).ok());
  ExpectTurned(SmallModel());
}

TEST_F(HfExportTest, TurnsTensorsInPiecesThatAreLargerThanItsBuffer) {
  json model = SmallModel();
  model["n_layer"] = 1u;
  model["n_embd"] = 8u;
  model["n_ff"] = 600'001u;         // 19 MB, wide in one projection and tall in the other
  model["n_positions"] = 700'000u;  // 22 MB
  ASSERT_TRUE(Export(Save(model)).ok());
  ExpectTurned(model);
}

TEST_F(HfExportTest, AnUntiedHeadIsATensorOfItsOwn) {
  json model = SmallModel();
  model["tie_head"] = false;
  ASSERT_TRUE(Export(Save(model)).ok());
  ExpectTurned(model);
  const json config = json::parse(Slurp(out_ + "/config.json"));
  EXPECT_EQ(config.at("tie_word_embeddings"), false);
}

TEST_F(HfExportTest, TheConfigurationHasTheSettingsThatWeightsLack) {
  ASSERT_TRUE(Export(Save()).ok());
  const json config = json::parse(Slurp(out_ + "/config.json"));
  EXPECT_EQ(config.at("model_type"), "gpt2");
  EXPECT_EQ(config.at("architectures"), json({"GPT2LMHeadModel"}));
  EXPECT_EQ(config.at("n_head"), 2);
  EXPECT_EQ(config.at("n_inner"), 6);
  EXPECT_EQ(config.at("vocab_size"), 5);
  EXPECT_EQ(config.at("activation_function"), "gelu_new");
  EXPECT_EQ(config.at("layer_norm_epsilon"), 1e-5);
  for (const char* dropout : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) {
    EXPECT_EQ(config.at(dropout), 0) << dropout;
  }
  EXPECT_EQ(config.at("eos_token_id"), nullptr) << "of this vocabulary nothing is known";
}

TEST_F(HfExportTest, RefusesModelsThatGpt2CannotExpressNamingTheField) {
  const std::pair<const char*, json> cases[] = {{"norm", "post"},
                                                {"positions", "sinusoidal"},
                                                {"bias", false},
                                                {"head_bias", true},
                                                {"activation", "swish"}};
  for (const auto& [field, value] : cases) {
    json model = SmallModel();
    model[field] = value;
    ExpectRefused(Save(SmallModel(), model), std::string("model.") + field);
  }
}

TEST_F(HfExportTest, RefusesACheckpointThatDoesNotNameItsModel) {
  ExpectRefused(Save(SmallModel(), json()), "does not say what model");
  json model = SmallModel();
  model.erase("n_head");
  ExpectRefused(Save(SmallModel(), model), "model.n_head");
  model = SmallModel();
  model["n_ff"] = 7u;
  ExpectRefused(Save(SmallModel(), model), "mlp.c_fc");
  model = SmallModel();
  model["n_layer"] = 1u;
  ExpectRefused(Save(SmallModel(), model), "28 tensors; 16 belong");
}

TEST_F(HfExportTest, RefusesADamagedCheckpointAndLeavesNothing) {
  const std::string checkpoint = Save();
  std::string bytes = Slurp(checkpoint + "/model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_.Write(IdOf(500).Path() + "/model.safetensors", bytes);
  ExpectRefused(checkpoint, "does not have the hash of its manifest");
  ExpectRefused(folder_ / "nowhere", "nowhere");
}

TEST_F(HfExportTest, RefusesAnotherCheckpointThanTheOneNamedByHash) {
  const absl::StatusOr<HfExport> refused = ExportHuggingFace({Save(), out_, "0123", {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("not 0123"), std::string::npos);
}

TEST_F(HfExportTest, NeverWritesOverAFolder) {
  const std::string checkpoint = Save();
  ASSERT_TRUE(Export(checkpoint).ok());
  const absl::StatusOr<HfExport> again = Export(checkpoint);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), kConfigError);
  EXPECT_NE(again.status().message().find("is there already"), std::string::npos);
}

TEST_F(HfExportTest, LeavesNothingWhenItIsStopped) {
  int asked = 0;
  const absl::StatusOr<HfExport> stopped =
      ExportHuggingFace({Save(), out_, {}, [&asked] { return ++asked == 3; }});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().code(), kCancelledError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}), 0);
}

}  // namespace
}  // namespace dt::checkpoint
