// field_table_test.cc: the table agrees with v1::Spec, and every row is plausible.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

using google::protobuf::FieldDescriptor;

// Adds the paths of a message's leaves, as the file writes them. Labels and Every are single
// values.
void AddLeaves(const google::protobuf::Descriptor& message, const std::string& prefix,
               std::set<std::string>& out) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    std::string path = prefix + field.name();
    const bool section = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                         !field.is_repeated() && field.message_type()->name() != "Every";
    if (section) {
      AddLeaves(*field.message_type(), path + ".", out);
      continue;
    }
    constexpr std::string_view kUnit = "_seconds";
    if (path.ends_with(kUnit)) path.resize(path.size() - kUnit.size());
    if (!IsReserved(path)) out.insert(path);  // messages may already have a place for it
  }
}

TEST(FieldTableTest, HoldsEveryLeafOfTheSpecificationOnce) {
  std::set<std::string> leaves, rows;
  AddLeaves(*v1::Spec::descriptor(), "", leaves);
  for (const Field& field : FieldTable()) {
    EXPECT_TRUE(rows.insert(field.path).second) << field.path << " appears twice";
  }
  leaves.erase("values");  // a trial's resolved parameters, not written in a file
  EXPECT_EQ(rows, leaves);
}

// A cast would change a number beyond the range into another one.
TEST(FieldTableTest, IntegersFitIntoTheirMessages) {
  for (const Field& field : FieldTable()) {
    if (field.type != FieldType::kInteger) continue;
    v1::Spec spec = DefaultSpec();
    for (const double bound : {field.min, field.max}) {
      v1::Value value;
      value.set_integer(static_cast<int64_t>(bound));
      ASSERT_TRUE(SetField(spec, field.path, value).ok()) << field.path;
      EXPECT_EQ(GetField(spec, field.path).integer(), value.integer()) << field.path;
    }
  }
}

TEST(FieldTableTest, EveryRowHasHelpAndADefaultThatItAcceptsItself) {
  for (const auto* table : {&FieldTable(), &ExperimentFieldTable()}) {
    for (const Field& field : *table) {
      EXPECT_FALSE(field.help.empty()) << field.path;
      EXPECT_EQ(field.help.back(), '.') << field.path;
      if (field.default_kind == DefaultKind::kFixed) {
        const auto value = ParseValue(field, field.default_text);
        EXPECT_TRUE(value.ok()) << value.status();
        EXPECT_EQ(ValueText(*value), field.default_text) << field.path;
      }
      if (field.type == FieldType::kChoice) {
        EXPECT_FALSE(field.choices.empty()) << field.path;
      }
    }
  }
}

TEST(FieldTableTest, ReservedWordsAreNotFields) {
  for (const std::string& path : ReservedPaths()) {
    EXPECT_EQ(FindField(path), nullptr) << path;
    EXPECT_EQ(FindExperimentField(path), nullptr) << path;
    EXPECT_TRUE(IsReserved(path));
  }
  EXPECT_TRUE(IsReserved("logging.mlflow.run"));
  EXPECT_FALSE(IsReserved("logging.mlflowing"));
}

TEST(FieldTableTest, EveryFieldReadsBackItsWrittenValue) {
  for (const Field& field : FieldTable()) {
    if (!HoldsValue(field)) continue;
    v1::Spec spec;
    const char* text = nullptr;
    switch (field.type) {
      case FieldType::kInteger:
        text = "3";
        break;
      case FieldType::kNumber:
        text = "0.25";
        break;
      case FieldType::kText:
        text = "some text";
        break;
      case FieldType::kFlag:
        text = "true";
        break;
      case FieldType::kChoice:
        text = field.choices.back().c_str();
        break;
      case FieldType::kNumbers:
        text = "[0.5, 0.75]";
        break;
      case FieldType::kEvery:
      case FieldType::kDuration:
        text = "90s";
        break;
      case FieldType::kLabels:
      case FieldType::kTexts:
        break;
    }
    const auto value = ParseValue(field, text);
    ASSERT_TRUE(value.ok()) << value.status();
    ASSERT_TRUE(SetField(spec, field.path, *value).ok()) << field.path;
    EXPECT_EQ(FieldText(spec, field.path), text) << field.path;
    EXPECT_TRUE(SameValue(GetField(spec, field.path), *value)) << field.path;
  }
}

TEST(FieldTableTest, DefaultsAgreeWithTheManual) {
  const v1::ExperimentSpec spec = DefaultExperiment();
  EXPECT_EQ(spec.search().method(), "grid");
  EXPECT_EQ(spec.search().metric(), "val_loss");
  EXPECT_EQ(spec.base().train().batch_size(), 8);
  EXPECT_EQ(spec.base().optimizer().lr(), 6e-4);
  EXPECT_EQ(spec.base().checkpoint().every().seconds(), 60);
  EXPECT_EQ(spec.base().retries().backoff_seconds(), 10);
  EXPECT_EQ(spec.base().schedule().warmup_steps(), -1);
}

TEST(SuggestTest, FindsTheNearestWordAndNothingWhenNoneIsNear) {
  EXPECT_EQ(SuggestPath("train.batchsize"), "train.batch_size");
  EXPECT_EQ(SuggestPath("trian.batch_size"), "train.batch_size");
  EXPECT_EQ(SuggestPath("optimiser.lr"), "optimizer.lr");
  EXPECT_EQ(SuggestPath("paramters"), "parameters");
  EXPECT_EQ(SuggestPath("train.lr"), "optimizer.lr");
  EXPECT_EQ(SuggestPath("batch_size"), "train.batch_size");
  EXPECT_EQ(SuggestPath("learning_rate"), "optimizer.lr");
  EXPECT_EQ(SuggestPath("model.d_model"), "model.n_embd");
  EXPECT_EQ(SuggestPath("quite_another_thing"), "");
  EXPECT_EQ(SuggestPath(std::string(1 << 20, 'x')), "");
}

TEST(SchemaTest, IsJsonThatKnowsEveryField) {
  const auto schema = nlohmann::json::parse(JsonSchema());
  EXPECT_EQ(schema["properties"]["train"]["properties"]["batch_size"]["minimum"], 1);
  EXPECT_EQ(schema["properties"]["optimizer"]["properties"]["lr"]["exclusiveMinimum"], 0.0);
  for (const Field& field : FieldTable()) {
    EXPECT_EQ(schema["properties"]["parameters"]["properties"].contains(field.path),
              field.sweepable)
        << field.path;
  }
}

}  // namespace
}  // namespace dt::spec
