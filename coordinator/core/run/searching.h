// searching.h: what a search makes of results: new trials, early ends of trials, and its own end.
//
// Role:    from facts to records. Decisions read durable state alone, in the order of its records,
//          and are journalled with the evidence that they follow from, each with its reason: a
//          restart decides nothing twice and nothing else.
// Tests:   tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <optional>

#include "coordinator/core/model/turn.h"
#include "coordinator/search/ladder.h"

namespace dt {

// The experiment's ticket has found slots: adds the trials of the next configuration, and names the
// first of them. nullopt: nothing is left to try, or the search cannot propose, and has ended.
std::optional<TrialId> ProposeTrial(Turn& turn, ExperimentId id);
// After the trial's newest evaluation was recorded, which is one that is compared: the first rule
// that applies ends the trial, or the search.
void JudgeEvaluation(Turn& turn, TrialId id);
// Judges a trial whose end has just been recorded. If it failed, enters it at the rung that it was
// heading for, and ends the search if too many trials failed, or all in the same way.
void JudgeEnd(Turn& turn, TrialId id);
// Judges each trial that the turn's records so far show to have ended. Step calls it once, after it
// took the event: a decision follows its evidence in the same commit.
void JudgeEnds(Turn& turn);

}  // namespace dt
