// rescue_fixture.h: gangs that break, whose survivors report what they hold.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {

class RescueTest : public AttemptTest {
 protected:
  // Trains one trial on a slot of each worker; its rank 0 has reported the rows up to `step`.
  TrialId TrainOn(const std::vector<std::string>& names, uint64_t step, v1::ExperimentSpec spec) {
    for (const std::string& name : names) {
      AddWorker(name, {.host = "host-" + name}).hello.set_rescues(true);
      Connect(name);
    }
    const TrialId id{Submit(std::move(spec)), 1};
    Train(names);
    SendItems("a", {Rows("a", 1, step)});
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
    return id;
  }
  TrialId TrainThree(uint64_t step, v1::ExperimentSpec spec = OnSlots(3)) {
    return TrainOn({"a", "b", "c"}, step, std::move(spec));
  }
  // Reports that the process of this rank was killed.
  void Die(const std::string& name) {
    v1::Item ended = Ended(name, v1::CAUSE_TRAINER_CRASH);
    ended.mutable_ended()->set_exit_status(9);
    SendItems(name, {ended});
    Leave(name);
  }
  // Reports the state that this rank holds since a collective failed. `meet_at`: of the first rank
  // of a replica.
  void Hold(const std::string& name, uint64_t step, uint64_t hash = 0,
            const std::string& meet_at = "") {
    for (auto& [token, status] : workers_.at(name).holding) {
      status.set_holds(true);
      status.set_holds_step(step);
      status.set_holds_hash(hash);
      status.set_meet_at(meet_at);
    }
    Heartbeat(name);
  }
  // Trains three ranks, of which b dies and the others hold the state after `step`.
  TrialId BreakThree(uint64_t step) {
    const TrialId id = TrainThree(step);
    Die("b");
    Hold("a", step);
    Hold("c", step);
    return id;
  }
  // Connects the worker again, whose trainer has ended.
  void ComeBackWithout(const std::string& name) {
    Connect(name);
    Follow(name);
    Leave(name);
  }
  // Makes an item one of a rank that was ordered to save.
  static v1::Item Rescued(v1::Item item) {
    item.set_rescue(true);
    return item;
  }
  bool IsToSave(const std::string& name) {
    return AssignedTo(name) != nullptr && AssignedTo(name)->rescue();
  }
  bool IsOpen(TrialId id) { return TrialOf(id).attempts.back().state != AttemptState::kEnded; }
};

}  // namespace dt
