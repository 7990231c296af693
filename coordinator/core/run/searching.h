// searching.h: the decisions of a search: new trials, early ends of trials, and its own end.
//
// Role:    makes records from facts. Decisions read only durable state, in the order of its
//          records. They are journalled in the commit of their evidence, each with its reason. So a
//          restart decides nothing twice, and nothing differently.
// Tests:   tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <optional>

#include "coordinator/core/model/turn.h"
#include "coordinator/search/ladder.h"

namespace dt {

// Adds the trials of the next configuration, as the experiment's ticket has found slots, and
// returns the first of them. Returns nullopt if nothing is left to try or the search cannot
// propose; then the search has ended.
std::optional<TrialId> ProposeTrial(Turn& turn, ExperimentId id);
// Whether a client ends its trial with this evaluation.
enum class Last : uint8_t { kNo, kYes };
// Judges the trial's newest evaluation, which was recorded and is compared. The first rule that
// applies ends the trial, or the search. No rule ends a trial at its last evaluation.
void JudgeEvaluation(Turn& turn, TrialId id, Last last);
// Ends an experiment whose trials would all fail for the reason of one that has failed: no trial
// starts any more, and those that are starting end. Trials that train go on.
void EndHopeless(Turn& turn, TrialId decided, const std::string& reason);
// Judges a trial whose end has just been recorded. If it failed, enters it at the rung that it was
// heading for, and ends the search if too many trials failed, or all in the same way.
void JudgeEnd(Turn& turn, TrialId id);
// Judges each trial that the turn's records so far show to have ended. Step calls it once, after it
// took the event: a decision follows its evidence in the same commit.
void JudgeEnds(Turn& turn);

}  // namespace dt
