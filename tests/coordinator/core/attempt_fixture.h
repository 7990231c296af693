// attempt_fixture.h: a gang of two that trains, and the end of its newest attempt.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tests/testing/core_fixture.h"

namespace dt {

class AttemptTest : public CoreTest {
 protected:
  // Trains one trial on two slots of two hosts.
  TrialId TrainPair(v1::ExperimentSpec spec = OnSlots(2)) {
    AddWorker("a", {.host = "host-a"});
    AddWorker("b", {.host = "host-b"});
    const TrialId id{Submit(std::move(spec)), 1};
    Train({"a", "b"});
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
    return id;
  }
  uint32_t AttemptsOf(TrialId id) { return static_cast<uint32_t>(TrialOf(id).attempts.size()); }
  v1::Cause CauseOf(TrialId id) { return TrialOf(id).attempts.back().cause; }
};

}  // namespace dt
