// calls_test.cc: submit, cancel, retry, delete: accepted calls, and refused ones.
#include "coordinator/core/calls/calls.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

TEST(CallTableTest, TheCoreAnswersEachCallThatIsNotAnsweredBeforeIt) {
  // rpc/ prepares the first two for the core, and answers the others.
  const std::set<std::string> elsewhere = {"Submit", "Plan", "PutCode", "ReadMetrics", "ReadLogs"};
  const auto& control = *v1::SubmitRequest::descriptor()->file()->FindServiceByName("Control");
  for (int i = 0; i < control.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *control.method(i);
    EXPECT_EQ(AnswersCall(*method.input_type()), !elsewhere.contains(method.name()))
        << method.name();
  }
}

class CallTest : public CoreTest {
 protected:
  absl::Status DeleteStatus(ExperimentId id) {
    v1::DeleteRequest request;
    request.set_experiment(id);
    return Call<v1::DeleteResponse>(request).status();
  }
  ExperimentId SubmitAs(const std::string& who) {
    v1::SubmitRequest request;
    *request.mutable_spec() = OneTrial();
    request.mutable_spec()->mutable_base()->mutable_train()->set_max_steps(100);
    request.set_who(who);
    const auto response = Call<v1::SubmitResponse>(std::move(request));
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->experiment() : 0;
  }
  // Returns the verdict on each call that changes an experiment, from a user who may change only
  // those of `only_of`.
  template <typename Request>
  absl::Status StatusFor(ExperimentId id, const std::string& only_of) {
    Request request;
    request.set_experiment(id);
    ClientCall call;
    call.reply = 1;
    call.request = request;
    call.only_of = only_of;
    Feed({.what = std::move(call)});
    EXPECT_EQ(last_.replies.size(), 1u);
    return last_.replies[0].status;
  }
  std::vector<absl::Status> Changes(ExperimentId id, const std::string& only_of) {
    return {StatusFor<v1::RetryRequest>(id, only_of), StatusFor<v1::ChangeRequest>(id, only_of),
            StatusFor<v1::DeleteRequest>(id, only_of), StatusFor<v1::CancelRequest>(id, only_of)};
  }
};

TEST_F(CallTest, ASubmissionIsExpandedAndQueued) {
  const auto response = TrySubmit(Trials(5));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->experiment(), 1u);
  EXPECT_EQ(response->trials(), 5u);
  EXPECT_FALSE(response->existed());
  EXPECT_EQ(GetExperiment(state_.durable, 1).pending, 5u);
  EXPECT_EQ(ExpandedOf(GetExperiment(state_.durable, 1), TrialOf({1, 5})).trial(), 5u);
}

TEST_F(CallTest, ABadSpecificationIsRefusedWithEveryError) {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_train()->set_batch_size(-1);
  spec.mutable_base()->mutable_optimizer()->set_lr(-5);
  const auto response = TrySubmit(spec);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(response.status().message().find("train.batch_size"), absl::string_view::npos);
  EXPECT_NE(response.status().message().find("optimizer.lr"), absl::string_view::npos);
  EXPECT_TRUE(last_.NothingDurable());
}

TEST_F(CallTest, TheSameRequestIdGivesTheSameExperimentAndOtherContentIsAnError) {
  const auto first = TrySubmit(Trials(2), "request-1");
  const auto again = TrySubmit(Trials(2), "request-1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->experiment(), first->experiment());
  EXPECT_EQ(again->trials(), 2u);
  EXPECT_TRUE(again->existed());
  EXPECT_TRUE(last_.NothingDurable());
  EXPECT_EQ(TrySubmit(Trials(3), "request-1").status().code(), absl::StatusCode::kAlreadyExists);
  RestartCoordinator();
  EXPECT_EQ(TrySubmit(Trials(2), "request-1")->experiment(), first->experiment());
  EXPECT_EQ(TrySubmit(Trials(2), "request-2")->experiment(), 2u);
}

TEST_F(CallTest, AFullDiskRefusesSubmissionsButNotTheirRepetition) {
  v1::SubmitRequest request;
  *request.mutable_spec() = OneTrial();
  request.set_request_id("before");
  ASSERT_TRUE(Call<v1::SubmitResponse>(request).ok());
  EXPECT_TRUE(Call<v1::SubmitResponse>(request, true).ok());
  request.set_request_id("after");
  EXPECT_EQ(Call<v1::SubmitResponse>(request, true).status().code(),
            absl::StatusCode::kResourceExhausted);
  request.set_dry_run(true);
  EXPECT_TRUE(Call<v1::SubmitResponse>(request, true).ok());
}

TEST_F(CallTest, ADryRunExpandsAndKeepsNothing) {
  v1::SubmitRequest request;
  *request.mutable_spec() = Trials(150);
  request.set_dry_run(true);
  const auto response = Call<v1::SubmitResponse>(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->trials(), 150u);
  EXPECT_EQ(response->expanded_size(), 100);
  EXPECT_EQ(response->experiment(), 0u);
  EXPECT_TRUE(last_.NothingDurable());
}

TEST_F(CallTest, AutoDeviceIsFixedByTheConnectedWorkers) {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_resources()->set_device("auto");
  const auto alone = TrySubmit(spec);
  EXPECT_EQ(alone->device(), "cpu");
  EXPECT_NE(alone->note().find("no worker is connected"), std::string::npos);
  AddWorker("c", {.device = "cpu"});
  EXPECT_EQ(TrySubmit(spec)->device(), "cpu");
  AddWorker("g", {.device = "cuda"});
  EXPECT_EQ(TrySubmit(spec)->device(), "cuda");
  EXPECT_EQ(GetExperiment(state_.durable, 3).spec.base().resources().device(), "cuda");
}

TEST_F(CallTest, AnExperimentThatCannotRunYetIsAcceptedWithANote) {
  AddWorker("a");
  const auto response = TrySubmit(OnSlots(4));
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->note(),
            "no connected worker could run this yet: needs 4 cpu slots; 1 cpu worker connected, "
            "1 free");
}

TEST_F(CallTest, ASeedLeftToChanceIsChosenOnceAndKept) {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->clear_seed();
  auto& paths = *spec.mutable_explicit_paths();
  paths.erase(std::find(paths.begin(), paths.end(), "seed"));
  const ExperimentId id = Submit(spec);
  const int64_t seed = GetExperiment(state_.durable, id).spec.base().seed();
  EXPECT_GT(seed, 0);
  EXPECT_EQ(GetExperiment(Replay(), id).spec.base().seed(), seed);
}

TEST_F(CallTest, OversizedTextsAreRefused) {
  v1::SubmitRequest request;
  *request.mutable_spec() = OneTrial();
  request.set_request_id(std::string(65, 'x'));
  EXPECT_EQ(Call<v1::SubmitResponse>(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_request_id("");
  request.set_file_text(std::string(limits::kExperimentFileBytes + 1, 'x'));
  EXPECT_EQ(Call<v1::SubmitResponse>(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CallTest, AMissingExperimentIsNotFound) {
  v1::CancelRequest cancel;
  cancel.set_experiment(9);
  EXPECT_EQ(Call<v1::CancelResponse>(cancel).status().code(), absl::StatusCode::kNotFound);
  cancel.set_last(true);
  EXPECT_EQ(Call<v1::CancelResponse>(cancel).status().code(), absl::StatusCode::kNotFound);
  const ExperimentId id = Submit(OneTrial());
  cancel.set_trial(2);
  EXPECT_EQ(Call<v1::CancelResponse>(cancel).status().code(), absl::StatusCode::kNotFound);
  cancel.set_trial(1);
  EXPECT_EQ(Call<v1::CancelResponse>(cancel)->experiment(), id);
  EXPECT_EQ(DeleteStatus(9).code(), absl::StatusCode::kNotFound);
}

TEST_F(CallTest, CancellingOneTrialLeavesTheOthers) {
  const ExperimentId id = Submit(Trials(3));
  EXPECT_EQ(Cancel(id, 2), 1u);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_CANCELLED);
  EXPECT_EQ(GetExperiment(state_.durable, id).pending, 2u);
  EXPECT_EQ(Cancel(id, 2), 0u);
  AddWorker("a");
  ExpectOrders("a", {id, 1}, 0);
  Train({"a"});
  Finish({"a"});
  ExpectOrders("a", {id, 3}, 0);
}

TEST_F(CallTest, CancellingDuringABackoffEndsTheTrial) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Cancel(id);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_CANCELLED);
  Advance(absl::Seconds(10));
  ExpectIdle("a");
}

TEST_F(CallTest, RetryNeedsASelection) {
  v1::RetryRequest request;
  request.set_experiment(Submit(OneTrial()));
  EXPECT_EQ(Call<v1::RetryResponse>(request).status().code(), absl::StatusCode::kInvalidArgument);
  Cancel(1);
  request.set_cancelled(true);
  EXPECT_EQ(Call<v1::RetryResponse>(request)->trials(), 1u);
  EXPECT_EQ(StateOfTrial({1, 1}), v1::TRIAL_PENDING);
}

TEST_F(CallTest, OnlyAnEndedExperimentIsDeletedAndItsFilesAreNamed) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Checkpoint("a", 10)});
  EXPECT_EQ(DeleteStatus(id).code(), absl::StatusCode::kFailedPrecondition);
  Finish({"a"});
  v1::DeleteRequest request;
  request.set_experiment(id);
  const auto response = Call<v1::DeleteResponse>(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->left_behind_size(), 1);
  EXPECT_EQ(response->left_behind(0).checkpoint().path(), "1/1/a1/step-10");
  EXPECT_EQ(last_.deletions, std::vector<ExperimentId>{id});
  EXPECT_EQ(DeleteStatus(id).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(state_.durable.tokens.empty());
}

TEST_F(CallTest, ASubmitterChangesOnlyOwnExperiments) {
  const ExperimentId anns = SubmitAs("ann");
  const ExperimentId nobodys = SubmitAs("");
  for (const absl::Status& status : Changes(anns, "bob")) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(status.message(),
              "experiment 1 was submitted by ann, and a submitter changes their own alone; ask ann "
              "or an admin");
    EXPECT_TRUE(last_.NothingDurable());
  }
  for (const absl::Status& status : Changes(nobodys, "bob")) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  }
  for (const absl::Status& status : Changes(99, "bob")) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  }
  for (const std::string only_of : {"ann", ""}) {
    for (const absl::Status& status : Changes(anns, only_of)) {
      EXPECT_NE(status.code(), absl::StatusCode::kPermissionDenied) << status;
    }
  }
}

TEST_F(CallTest, AWorkerThatStillLeavesADeletedAttemptIsOrderedToStop) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED)});
  ASSERT_TRUE(DeleteStatus(id).ok());
  ASSERT_EQ(workers_.at("a").orders->unknown_tokens_size(), 1);
  ExpectIdle("a");
  const ExperimentId next = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({next, 1}), v1::TRIAL_PENDING);
  Leave("a");
  EXPECT_EQ(StateOfTrial({next, 1}), v1::TRIAL_STARTING);
}

}  // namespace
}  // namespace dt
