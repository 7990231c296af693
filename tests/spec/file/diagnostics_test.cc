#include <string>

#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"

namespace dt::spec {
namespace {

TEST(RenderTest, ALineThatNobodyWouldReadIsNotQuoted) {
  const ExperimentFile file = ReadExperimentFile(
      "labels: {a: " + std::string(70000, 'x') + ", b: [], c: d}\n", "grid.yaml");
  const std::string text = RenderDiagnostics(file.diagnostics);
  EXPECT_NE(text.find("grid.yaml:1:70018: error: "), std::string::npos) << text;
  EXPECT_EQ(text.find("xxx"), std::string::npos) << text;
}

}  // namespace
}  // namespace dt::spec
