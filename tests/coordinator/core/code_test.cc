// code_test.cc: code in a submission, in the journal and in orders.
#include "common/sha256.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class CodeTest : public CoreTest {
 protected:
  static v1::ExperimentSpec WithCode() {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_code()->set_digest(Sha256Hex("code"));
    spec.mutable_code()->set_bytes(100);
    spec.mutable_code()->set_files(2);
    spec.mutable_code()->set_revision("0123");
    spec.mutable_code()->set_changes(" M train.py\n");
    return spec;
  }
  void ExpectRefused(const v1::ExperimentSpec& spec, const std::string& because) {
    const auto refused = TrySubmit(spec);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
    EXPECT_NE(refused.status().message().find(because), std::string::npos) << refused.status();
  }
};

TEST_F(CodeTest, OrdersNameTheCodeAlsoAfterARestart) {
  AddWorker("w0");
  const ExperimentId id = Submit(WithCode());
  RestartCoordinator();
  Connect("w0");
  const v1::Assigned& assigned = workers_.at("w0").orders->attempt();
  EXPECT_EQ(assigned.code().digest(), Sha256Hex("code"));
  EXPECT_EQ(assigned.code().bytes(), 100u);
  EXPECT_EQ(assigned.code().changes(), "") << "which is for people";
  EXPECT_EQ(GetExperiment(state_.durable, id).spec.code().changes(), " M train.py\n");
}

TEST_F(CodeTest, ExperimentsWithoutCodeHaveNoneInTheirOrders) {
  AddWorker("w0");
  Submit(OneTrial());
  EXPECT_FALSE(workers_.at("w0").orders->attempt().has_code());
}

TEST_F(CodeTest, ASubmissionsCodeFieldsAreChecked) {
  v1::ExperimentSpec spec = WithCode();
  spec.mutable_code()->set_digest("../../etc/passwd");
  ExpectRefused(spec, "64 hex digits");
  spec = WithCode();
  spec.mutable_code()->set_bytes(limits::kCodeBytes + 1);
  ExpectRefused(spec, "code.bytes is 33554433; the limit is 33554432");
  spec = WithCode();
  spec.mutable_code()->set_changes(std::string(limits::kCodeChangesBytes + 1, 'x'));
  ExpectRefused(spec, "the limit is 16384");
  spec = OneTrial();
  spec.mutable_base()->set_code("src");
  ExpectRefused(spec, "submit the file with dtctl");
}

}  // namespace
}  // namespace dt
