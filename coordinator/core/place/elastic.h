// elastic.h: gangs that go on with another number of slots: fewer where others need them, more over
// slots that nobody wants.
//
// Role:      decides; the requests are journalled (StopRequested, RESIZED). The slots of the next
//            size are held for the gang while it saves and leaves (reservations.h). After a restart
//            of the coordinator open requests hold slots again, and durations start anew.
// Invariant: a gang has a size that its trial reaches (spec/sizes.h). It grows over slots alone
//            that have been idle for Patience::grow_after and that nobody waits for, by a quarter
//            at least, at most once in Patience::resize_every, and where it has as long to train.
// Source:    search.md 4.5
// Tests:     tests/coordinator/core/elastic_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// Has the gang save, and go on with so many slots: in favour of `made_for`, if it is a trial.
// False: it ends anyway, or was asked before.
bool AskToResize(Turn& turn, LiveAttempt& attempt, int32_t slots, TrialId made_for,
                 const std::string& why);
// Has the gang leave a worker that takes no more work; it goes on with what is left, or waits.
bool AskToLeave(Turn& turn, LiveAttempt& attempt, const std::string& why);
// After placement: has gangs grow over slots that are idle.
void GrowOverIdle(Turn& turn);
// The attempt begins, or the coordinator does: when it may grow.
void NoteSize(State& state, LiveAttempt& attempt);

}  // namespace dt
