// override_test.cc: the effect of a --set with a map on a section of the file.
#include "spec/file/override.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"

namespace dt::spec {
namespace {

constexpr char kHead[] = "version: 1\nname: grid\ndata: {train: \"a*.bin\", val: \"b*.bin\"}\n";

ExperimentFile ReadValid(const std::string& text, const std::vector<std::string>& overrides = {}) {
  ExperimentFile file = ReadExperimentFile(text, "grid.yaml", overrides);
  EXPECT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  return file;
}

TEST(OverrideTest, AMapSetsTheFieldsThatItNamesAndLeavesTheOthersOfItsSection) {
  const std::string text = std::string(kHead) +
                           "train: {batch_size: 4, seq_len: 64}\n"
                           "search: {method: asha, asha: {eta: 3, rungs: 2}, max_trials: 4}\n"
                           "parameters:\n"
                           "  optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}\n";
  const ExperimentFile file = ReadValid(
      text, {"train={batch_size: 16, max_steps: 50}", "search={asha: {eta: 4}}",
             "eval={batches: 2}", "parameters={optimizer.lr: {min: 1.0e-4, max: 1.0e-3}}"});
  EXPECT_EQ(file.spec.base().train().batch_size(), 16);
  EXPECT_EQ(file.spec.base().train().seq_len(), 64) << "the map does not name it";
  EXPECT_EQ(file.spec.base().train().max_steps(), 50);
  EXPECT_EQ(file.spec.search().asha().eta(), 4);
  EXPECT_EQ(file.spec.search().asha().rungs(), 2);
  EXPECT_EQ(file.spec.base().eval().batches(), 2);
  EXPECT_EQ(file.spec.parameters(0).range().scale(), "") << "a parameter is one value";
  const ExperimentFile again = ReadValid(file.effective_text);
  EXPECT_EQ(again.spec.SerializeAsString(), file.spec.SerializeAsString()) << file.effective_text;
}

TEST(OverrideTest, NullIsNothingAsInAFile) {
  for (const char* nothing : {"null", "~", "NULL"}) {
    for (const char* path : {"name", "search.metric", "train.batch_size"}) {
      const ExperimentFile file =
          ReadExperimentFile(kHead, "grid.yaml", {absl::StrCat(path, "=", nothing)});
      ASSERT_EQ(file.diagnostics.size(), 1u) << RenderDiagnostics(file.diagnostics);
      EXPECT_EQ(file.diagnostics[0].code, "empty") << path << " " << nothing;
    }
  }
  EXPECT_EQ(ReadValid(kHead, {"name='null'"}).spec.name(), "null") << "quoted, it is text";
}

}  // namespace
}  // namespace dt::spec
