// convert_test.cc: frames to messages and back.
#include "worker/agent/convert.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(ConvertTest, SpecificationHasOriginalNamesAndEveryField) {
  v1::Spec spec;
  spec.mutable_train()->set_batch_size(4);
  spec.mutable_model();
  const nlohmann::json json = SpecToJson(spec);
  EXPECT_EQ(json.at("train").at("batch_size"), 4);
  EXPECT_EQ(json.at("train").at("grad_clip"), 0.0);
  EXPECT_EQ(json.at("model").at("tie_head"), false);
}

TEST(ConvertTest, UnknownCauseIsACrash) {
  EXPECT_EQ(CauseFromWord("oom"), v1::CAUSE_OOM);
  EXPECT_EQ(CauseFromWord("sunspots"), v1::CAUSE_TRAINER_CRASH);
}

}  // namespace
}  // namespace dt
