// noise_test.cc: the gradient noise scale is the same number however the model is cut: it compares
// a data rank's gradient, or a micro-step's, with that of the complete batch.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/worker/trainer/run/model_parallel_fixture.h"

namespace dt::testing {
namespace {

// Meshes whose data ranks have the same sequences as those of the first mesh.
struct Alike {
  const char* name;
  Meshed first;
  std::vector<Meshed> others;
};
void PrintTo(const Alike& alike, std::ostream* out) { *out << alike.name; }

Meshed MeshOf(const char* name, int ranks, nlohmann::json parallel) {
  return {name, ranks, std::move(parallel)};
}

class NoiseTest : public ModelParallelTest, public ::testing::WithParamInterface<Alike> {
 protected:
  // Returns the second measured value. Weights stay the same, so that only the sums of the
  // gradients differ.
  double NoiseScaleOf(const Meshed& mesh) {
    nlohmann::json spec = StepsOfSequences(16, 8, 2);
    spec["model"]["n_head"] = 4;
    spec["model"]["n_layer"] = 4;
    spec["optimizer"]["lr"] = kNothing;
    spec["parallel"].update(mesh.spec);
    const Told told = TrainerGang(mesh.ranks).Run(Start(spec));
    ExpectFinished(told);
    return told.rows.back().value("noise_scale_tokens", 0.0);
  }
};

TEST_P(NoiseTest, IsTheSameHoweverTheModelIsCut) {
  const double expected = NoiseScaleOf(GetParam().first);
  ASSERT_GT(expected, 0);
  for (const Meshed& mesh : GetParam().others) {
    EXPECT_NEAR(NoiseScaleOf(mesh) / expected, 1, 2e-3) << mesh.name;
  }
}

std::string AlikeName(const ::testing::TestParamInfo<Alike>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Diagonal, NoiseTest,
    ::testing::Values(
        Alike{"MicroSteps",
              MeshOf("one rank", 1, nlohmann::json::object()),
              {MeshOf("tensor", 2, {{"tensor", 2}}),
               MeshOf("all tokens", 2, {{"tensor", 2}, {"sequence", false}}),
               MeshOf("pieces", 2,
                      {{"pipeline", 2}, {"schedule", "interleaved"}, {"interleave", 2}})}},
        Alike{"DataRanks",
              MeshOf("ddp", 2, nlohmann::json::object()),
              {MeshOf("tensor", 4, {{"tensor", 2}}),
               MeshOf("stages that share", 4, {{"pipeline", 2}, {"strategy", "zero1"}})}}),
    AlikeName);

INSTANTIATE_TEST_SUITE_P(
    Rest, NoiseTest,
    ::testing::Values(Alike{"MicroStepsOfDataRanks",
                            MeshOf("zero3", 2, {{"strategy", "zero3"}}),
                            {MeshOf("zero2", 2, {{"strategy", "zero2"}}),
                             MeshOf("tensor", 4, {{"tensor", 2}, {"strategy", "zero3"}}),
                             MeshOf("pieces", 4,
                                    {{"pipeline", 2},
                                     {"schedule", "interleaved"},
                                     {"interleave", 2},
                                     {"strategy", "zero3"}})}},
                      Alike{"Copies",
                            MeshOf("ddp", 4, nlohmann::json::object()),
                            {MeshOf("hsdp", 4, {{"strategy", "hsdp"}, {"shard", 2}})}},
                      Alike{"DataRanks",
                            MeshOf("zero1", 2, {{"strategy", "zero1"}}),
                            {MeshOf("all tokens", 4, {{"tensor", 2}, {"sequence", false}}),
                             MeshOf("stages", 4, {{"pipeline", 2}, {"schedule", "gpipe"}}),
                             MeshOf("both", 8,
                                    {{"pipeline", 2}, {"tensor", 2}, {"strategy", "zero1"}})}}),
    AlikeName);

}  // namespace
}  // namespace dt::testing
