// quotas_test.cc: the slots that a user's or a label's experiments may hold together.
#include "coordinator/core/keep/quotas.h"

#include <gtest/gtest.h>

#include "common/access_limits.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/keep/queue.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class QuotasTest : public CoreTest {
 protected:
  void AddWorkers(int count) {
    for (int i = 0; i < count; ++i) AddWorker(std::string(1, static_cast<char>('a' + i)));
  }
  ExperimentId SubmitAs(const std::string& who, v1::ExperimentSpec spec) {
    v1::SubmitRequest request;
    spec.mutable_base()->mutable_train()->set_max_steps(100);
    *request.mutable_spec() = std::move(spec);
    request.set_who(who);
    const auto response = Call<v1::SubmitResponse>(std::move(request));
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->experiment() : 0;
  }
  static v1::ExperimentSpec With(const std::string& team, v1::ExperimentSpec spec) {
    v1::Label& label = *spec.add_labels();
    label.set_key("team");
    label.set_value(team);
    return spec;
  }
  absl::StatusOr<v1::SetQuotaResponse> Set(const std::string& user, const std::string& label,
                                           uint32_t slots, bool removed = false) {
    v1::SetQuotaRequest request;
    request.set_user(user);
    request.set_label(label);
    request.set_slots(slots);
    request.set_removed(removed);
    request.set_who("root");
    return Call<v1::SetQuotaResponse>(request);
  }
  uint32_t Held(ExperimentId id) { return SlotsHeld(state_.live, id); }
};

TEST_F(QuotasTest, AUsersExperimentsShareTheirQuotaAndOthersAreNotBoundByIt) {
  AddWorkers(6);
  ASSERT_TRUE(Set("ann", "", 3).ok());
  const ExperimentId first = SubmitAs("ann", Trials(2));
  const ExperimentId second = SubmitAs("ann", Trials(4));
  EXPECT_EQ(Held(first) + Held(second), 3u);
  EXPECT_NE(Explain({second, 4})
                .find("waits: experiments of ann hold 3 of at most 3 slots (dtctl "
                      "quota list), and this needs 1"),
            std::string::npos)
      << Explain({second, 4});
  const ExperimentId other = SubmitAs("bob", Trials(3));
  EXPECT_EQ(Held(other), 3u);
  // A trial of the first ends: the second experiment gets its slot.
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(Held(first) + Held(second), 3u);
  const auto listed = Call<v1::ListQuotasResponse>(v1::ListQuotasRequest());
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->quotas_size(), 1);
  EXPECT_EQ(listed->quotas(0).held(), 3u);
  EXPECT_EQ(listed->quotas(0).set_by(), "root");
}

TEST_F(QuotasTest, ALoweredQuotaStopsNothingAndARaisedOneStartsWaitingTrials) {
  AddWorkers(4);
  const ExperimentId id = SubmitAs("ann", Trials(4));
  EXPECT_EQ(Held(id), 4u);
  ASSERT_TRUE(Set("ann", "", 2).ok());
  EXPECT_EQ(Held(id), 4u) << "running trials go on";
  const ExperimentId later = SubmitAs("ann", Trials(4));
  for (const char* name : {"a", "b", "c"}) {
    Train({name});
    Finish({name});
  }
  EXPECT_EQ(Held(id) + Held(later), 2u);
  ASSERT_TRUE(Set("ann", "", 3).ok());
  EXPECT_EQ(Held(id) + Held(later), 3u);
  ASSERT_TRUE(Set("ann", "", 0, true).ok());
  EXPECT_EQ(Held(id) + Held(later), 4u);
  EXPECT_FALSE(Set("ann", "", 0, true)->changed());
}

TEST_F(QuotasTest, ALabelsQuotaFollowsTheLabelsOfExperiments) {
  AddWorkers(4);
  ASSERT_TRUE(Set("", "team=vision", 1).ok());
  const ExperimentId vision = SubmitAs("ann", With("vision", Trials(3)));
  EXPECT_EQ(Held(vision), 1u);
  const ExperimentId speech = SubmitAs("bob", With("speech", OneTrial()));
  EXPECT_EQ(Held(speech), 1u);
  v1::ChangeRequest change;
  change.set_experiment(vision);
  change.mutable_labels()->add_removed("team");
  ASSERT_TRUE(Call<v1::ChangeResponse>(change).ok());
  EXPECT_EQ(Held(vision), 3u);
}

TEST_F(QuotasTest, ALargeGangWaitsForTheQuotaAndReservesNothingMeanwhile) {
  AddWorkers(4);
  ASSERT_TRUE(Set("ann", "", 2).ok());
  const ExperimentId small = SubmitAs("ann", OneTrial());
  const ExperimentId large = SubmitAs("ann", OnSlots(2));
  EXPECT_EQ(Held(small), 1u);
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_PENDING);
  EXPECT_TRUE(state_.live.reservations.empty());
  EXPECT_EQ(Held(SubmitAs("bob", Trials(3))), 3u) << "no trial waits behind it";
}

TEST_F(QuotasTest, AQuotaHoldsAfterARestartAndFromASnapshot) {
  AddWorkers(3);
  ASSERT_TRUE(Set("ann", "", 2).ok());
  ASSERT_TRUE(Set("", "team=vision", 0).ok());
  const ExperimentId id = SubmitAs("ann", Trials(3));
  const ExperimentId none = SubmitAs("bob", With("vision", OneTrial()));
  RestartCoordinator();
  for (const char* name : {"a", "b", "c"}) Connect(name);
  Advance(absl::Seconds(3));
  EXPECT_EQ(Held(id), 2u);
  EXPECT_EQ(Held(none), 0u);
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
}

TEST_F(QuotasTest, AnInvalidQuotaIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Set("", "", 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("ann", "team=vision", 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("", "team", 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("ann\n", "", 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("ann", "", limits::kWorkers + 1).status()));
  for (size_t i = 0; i < limits::kQuotas; ++i) {
    ASSERT_TRUE(Set(absl::StrCat("user", i), "", 1).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Set("ann", "", 1).status()));
  EXPECT_TRUE(Set("user7", "", 2).ok());
}

}  // namespace
}  // namespace dt
