// step_columns_test.cc: the table of columns agrees with v1::StepRow.
#include "spec/step_columns.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dt::spec {
namespace {

namespace v1 = ::dtrain::v1;

using google::protobuf::FieldDescriptor;

TEST(StepColumnsTest, EveryMeasureOfARowIsAColumnOrAStateThatCannotBeSummed) {
  std::set<std::string> columns = {"loss",
                                   "learning_rate",
                                   "grad_norm",
                                   "peak_flops",
                                   "noise_scale_tokens",
                                   "memory_peak_bytes",
                                   "tensor_held_bytes",
                                   "tensor_peak_bytes",
                                   "rank_skew_seconds"};
  for (const StepColumn& column : kStepColumns) {
    EXPECT_TRUE(columns.insert(column.name).second) << column.name << " appears twice";
  }
  std::set<std::string> measures;
  const auto* row = v1::StepRow::descriptor();
  for (int i = 0; i < row->field_count(); ++i) {
    const FieldDescriptor& field = *row->field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) measures.insert(field.name());
  }
  EXPECT_EQ(columns, measures);
}

TEST(StepColumnsTest, AColumnReadsAndWritesTheFieldOfItsName) {
  for (const StepColumn& column : kStepColumns) {
    v1::StepRow row;
    column.Set(row, 2.5);
    EXPECT_EQ(column.Of(row), 2.5);
    const FieldDescriptor* field = v1::StepRow::descriptor()->FindFieldByName(column.name);
    EXPECT_EQ(row.GetReflection()->GetDouble(row, field), 2.5) << column.name;
  }
}

TEST(StepColumnsTest, PhasesArePerStepAndPartsOfAStep) {
  EXPECT_EQ(kPartsOfStep.size(), 6u);
  for (const StepColumn& part : kPartsOfStep) {
    EXPECT_EQ(part.covers, Covers::kLoggedStep) << part.name;
    EXPECT_EQ(std::string(part.phase) + "_seconds", part.name);
  }
}

}  // namespace
}  // namespace dt::spec
