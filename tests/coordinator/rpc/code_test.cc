// code_test.cc: packed code over gRPC: sent in parts, needed by a submission, given to workers.
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "coordinator/core/model/event.h"
#include "tests/testing/experiments.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

class CodeTest : public RpcTest {
 protected:
  // Answers as a core that numbers submissions from 1, and deletes.
  void Accept() {
    Script([this](Event& event, Publisher& publisher) {
      auto* call = std::get_if<ClientCall>(&event.what);
      if (call == nullptr) return;
      seen_.Add("call");
      if (auto* submission = std::get_if<Submission>(&call->request)) {
        auto response = std::make_unique<v1::SubmitResponse>();
        response->set_experiment(++experiments_);
        publisher.Answer({call->reply, submission->refused, std::move(response)});
      } else {
        publisher.Answer({call->reply, absl::OkStatus(), std::make_unique<v1::DeleteResponse>()});
      }
    });
  }
  v1::PutCodeResponse Put(const std::string& data) {
    v1::PutCodeRequest request;
    request.set_digest(digest_);
    request.set_parts(1);
    request.set_data(data);
    v1::PutCodeResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = control_->PutCode(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Submit(bool dry_run = false) {
    v1::SubmitRequest request;
    *request.mutable_spec() = OneTrial();
    request.mutable_spec()->mutable_code()->set_digest(digest_);
    request.set_dry_run(dry_run);
    v1::SubmitResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return control_->Submit(&context, request, &response);
  }
  grpc::Status Get(v1::GetCodeResponse& response, const std::string& worker = "host/0") {
    v1::GetCodeRequest request;
    request.set_digest(digest_);
    request.set_worker(worker);
    grpc::ClientContext context;
    SetDeadline(context);
    return fleet_->GetCode(&context, request, &response);
  }

  const std::string code_bytes_ = *pack::Pack({{"a.py", pack::Kind::kFile, "print(1)"}});
  const std::string digest_ = Sha256Hex(code_bytes_);
  uint64_t experiments_ = 0;  // used by the script
};

TEST_F(CodeTest, ASubmissionIsRefusedUntilItsCodeIsThereAndThenWorkersGetIt) {
  Serve();
  Accept();
  const grpc::Status early = Submit();
  EXPECT_EQ(early.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(early.error_message().find(digest_), std::string::npos) << early.error_message();
  EXPECT_TRUE(Submit(/*dry_run=*/true).ok()) << "which is checked without the code";
  EXPECT_FALSE(Put("").complete());
  EXPECT_TRUE(Put(code_bytes_).complete());
  EXPECT_TRUE(Put("").complete());
  v1::GetCodeResponse got;
  EXPECT_EQ(Get(got).error_code(), grpc::StatusCode::NOT_FOUND) << "no experiment has it";
  const grpc::Status submitted = Submit();
  ASSERT_TRUE(submitted.ok()) << submitted.error_message();
  ASSERT_TRUE(Get(got).ok());
  EXPECT_EQ(got.data(), code_bytes_);
  EXPECT_EQ(got.parts(), 1u);
  v1::DeleteRequest request;
  request.set_experiment(2);
  v1::DeleteResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  ASSERT_TRUE(control_->Delete(&context, request, &response).ok());
  EXPECT_EQ(Get(got).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_FALSE(Put("").complete());
}

TEST_F(CodeTest, ASubmissionThatTheCoreRefusesLeavesTheCodeUnnamed) {
  Serve();
  Script([](Event& event, Publisher& publisher) {
    if (auto* call = std::get_if<ClientCall>(&event.what)) {
      publisher.Answer({call->reply, absl::InvalidArgumentError("no"), nullptr});
    }
  });
  EXPECT_TRUE(Put(code_bytes_).complete());
  EXPECT_EQ(Submit().error_message(), "no");
  v1::GetCodeResponse got;
  EXPECT_EQ(Get(got).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Put("").complete()) << "the next submission finds it";
}

TEST_F(CodeTest, CallsWithoutADeadlineOrADigestAreRefused) {
  Serve();
  Accept();
  grpc::ClientContext endless;
  v1::GetCodeRequest get;
  v1::GetCodeResponse got;
  EXPECT_EQ(fleet_->GetCode(&endless, get, &got).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::PutCodeRequest put;
  put.set_digest("../../etc/passwd");
  put.set_parts(1);
  put.set_data("x");
  v1::PutCodeResponse answer;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status refused = control_->PutCode(&context, put, &answer);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("64 hex digits"), std::string::npos);
}

}  // namespace
}  // namespace dt
