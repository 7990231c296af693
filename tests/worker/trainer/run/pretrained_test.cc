#include "worker/trainer/run/pretrained.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/gpt2_trial.h"

namespace dt::trainer {
namespace {

using ::dt::testing::TempFolder;

ModelSpec BegunFromAFolder() {
  ModelSpec spec = SmallGpt2();
  spec.init_from = "start";
  return spec;
}

// Writes the parameters of `model` in Hugging Face's format.
void WriteFolder(const TempFolder& folder, const ModelSpec& spec, const Transformer& model,
                 checkpoint::DType dtype) {
  const at::ScalarType type = dtype == checkpoint::DType::kF16    ? at::kHalf
                              : dtype == checkpoint::DType::kBF16 ? at::kBFloat16
                                                                  : at::kFloat;
  std::map<std::string, at::Tensor> parameters;
  for (const NamedTensor& one : model.Parameters()) {
    parameters[one.name] = one.tensor.detach();
  }
  std::vector<at::Tensor> data;
  std::vector<checkpoint::TensorRef> refs;
  for (const checkpoint::Gpt2Tensor& tensor :
       checkpoint::Gpt2Tensors(*checkpoint::Gpt2ShapeOf(ModelFields(spec)))) {
    at::Tensor value = parameters.at(tensor.ours);
    if (tensor.transposed) value = value.t();
    value = value.slice(0, 0, tensor.their_shape[0]).to(type).contiguous();
    data.push_back(value);
    refs.push_back({tensor.theirs, dtype, tensor.their_shape, value.const_data_ptr()});
  }
  std::filesystem::create_directory(folder / "start");
  ASSERT_TRUE(checkpoint::WriteSafetensors(folder / "start/model.safetensors", refs).ok());
}

double LargestDifference(const Transformer& a, const Transformer& b, int64_t real_rows) {
  double largest = 0;
  for (size_t i = 0; i < a.Parameters().size(); ++i) {
    at::Tensor left = a.Parameters()[i].tensor.detach();
    at::Tensor right = b.Parameters()[i].tensor.detach();
    if (a.Parameters()[i].name == "wte.weight") {
      left = left.slice(0, 0, real_rows);
      right = right.slice(0, 0, real_rows);
    }
    largest = std::max(largest, (left - right).abs().max().item<double>());
  }
  return largest;
}

TEST(PretrainedTest, GivesTheParametersThatTheFolderHasInEveryPrecision) {
  const ModelSpec spec = BegunFromAFolder();
  const Transformer source(spec, 1, at::kCPU);
  // Values are up to 0.1, except for the ones of the norms.
  const std::pair<checkpoint::DType, double> kinds[] = {{checkpoint::DType::kF32, 0},
                                                        {checkpoint::DType::kF16, 1e-4},
                                                        {checkpoint::DType::kBF16, 1e-3}};
  for (const auto& [dtype, tolerance] : kinds) {
    const TempFolder folder;
    WriteFolder(folder, spec, source, dtype);
    const absl::StatusOr<checkpoint::HfWeights> weights = FindPretrained(folder.path(), spec);
    ASSERT_TRUE(weights.ok()) << weights.status();
    WholeHome home(at::kCPU);
    const Transformer model(spec, 2, home);
    Mesh mesh;
    ASSERT_GT(LargestDifference(source, model, spec.vocab_size), 0.01);
    ASSERT_TRUE(LoadPretrained(*weights, mesh, home.pieces()).ok());
    EXPECT_LE(LargestDifference(source, model, spec.vocab_size), tolerance)
        << checkpoint::DTypeName(dtype);
  }
}

TEST(PretrainedTest, NonFiniteWeightsAreRefused) {
  const ModelSpec spec = BegunFromAFolder();
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity()};
  for (const checkpoint::DType dtype : {checkpoint::DType::kF32, checkpoint::DType::kBF16}) {
    for (const float value : odd) {
      const TempFolder folder;
      const Transformer source(spec, 1, at::kCPU);
      source.Parameters().back().tensor.detach().view(-1)[0].fill_(value);
      WriteFolder(folder, spec, source, dtype);
      const absl::StatusOr<checkpoint::HfWeights> weights = FindPretrained(folder.path(), spec);
      ASSERT_TRUE(weights.ok()) << weights.status();
      WholeHome home(at::kCPU);
      const Transformer model(spec, 2, home);
      Mesh mesh;
      const absl::Status refused = LoadPretrained(*weights, mesh, home.pieces());
      EXPECT_EQ(refused.code(), kDataError) << refused;
      EXPECT_NE(refused.message().find("has numbers that are not finite"), std::string::npos)
          << refused;
    }
  }
}

TEST(PretrainedTest, RefusesAFolderThatIsNotThereAndAModelThatIsNoGpt2) {
  const TempFolder folder;
  ModelSpec spec = BegunFromAFolder();
  absl::StatusOr<checkpoint::HfWeights> refused = FindPretrained(folder.path(), spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), kDataError);
  EXPECT_NE(refused.status().message().find("model.init_from 'start/model"), std::string::npos);
  spec.norm = Norm::kPost;
  refused = FindPretrained(folder.path(), spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), kConfigError);
  EXPECT_NE(refused.status().message().find("model.norm is post"), std::string::npos);
}

}  // namespace
}  // namespace dt::trainer
