// elastic.h: gangs that go on with another number of slots: fewer if others need them, more if
// slots are idle.
//
// Role:      decides; the requests are journalled (StopRequested, RESIZED). The slots of the next
//            size are held for the gang while it saves and leaves (reservations.h). After a restart
//            of the coordinator open requests hold slots again, and durations start anew.
// Invariant: a gang has a size that its trial allows (spec/sizes.h). It only grows over slots that
//            have been idle for GangProtection::grow_after and for which nobody waits, by at least
//            a quarter, at most once in GangProtection::resize_every, and if it still trains as
//            long.
// Source:    search.md 4.5
// Tests:     tests/coordinator/core/elastic_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// Asks the gang to save and to go on with so many slots, in favour of `made_for` if that is a
// trial. Returns false if it ends anyway or was asked before.
bool AskToResize(Turn& turn, LiveAttempt& attempt, int32_t slots, TrialId made_for,
                 const std::string& why);
// Asks the gang to leave a worker that takes no more work. It goes on with the rest, or waits.
bool AskToLeave(Turn& turn, LiveAttempt& attempt, const std::string& why);
// Makes gangs grow over idle slots. Called after placement.
void GrowOverIdle(Turn& turn);
// Sets when the attempt may grow. Called when it starts, and at a start of the coordinator.
void NoteSize(State& state, LiveAttempt& attempt);

}  // namespace dt
