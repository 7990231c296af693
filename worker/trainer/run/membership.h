// membership.h: what a rank is to its gang: who is in it, how they stay together, and which samples
// are this rank's. All of it would fall with a change of members, and is made anew from
// training_state.h.
//
// Ownership: of the attempt, which destroys it before the state; in the order in which one uses the
//            other.
// Errors:    of Meet those of meeting and joining; LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/data/loader.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/stage_link.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/tensor_group.h"
#include "worker/trainer/run/attempt_options.h"
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/trial/spec.h"
#include "worker/trainer/trial/sync_steps.h"

namespace dt::trainer {

struct Membership {
  StepPlan plan;                                          // this rank's share of each step
  SyncSteps sync;                                         // after which all are equal
  std::shared_ptr<Mesh> mesh = std::make_shared<Mesh>();  // shared with whoever may abort it
  std::shared_ptr<Timeline> timeline;                     // shared with what times collectives
  std::unique_ptr<TensorGroup> tensor;                    // null: a rank has whole layers
  std::unique_ptr<StageLink> stages;                      // null: a rank has all layers
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<Loader> loader;
};

// Joins `mesh` with the other ranks of the attempt; nothing to do for a rank that is to be alone.
// A stop ends it.
absl::Status Meet(const frames::Start& start, const TrialSpec& spec, Device& device,
                  Conversation& conversation, const AttemptOptions& options,
                  const std::shared_ptr<Mesh>& mesh);

// The ranks of each layer; null where a rank has all of it.
std::unique_ptr<TensorGroup> MakeTensorGroup(const TrialSpec& spec, const Membership& members);
// The stages before and after this one; null where a rank has all layers.
std::unique_ptr<StageLink> MakeStageLink(const Membership& members, c10::Device device);
// As the model of this rank sees them.
StageAxis StagesOf(const TrialSpec& spec, const Membership& members);
// Where the ranks of `mesh` keep parameters, as parallel.strategy has it.
std::unique_ptr<ParameterHome> MakeHome(const TrialSpec& spec, c10::Device device,
                                        const Mesh& mesh);
// After which steps the ranks of `plan` are equal; `compared`: those at which a search compares
// trials, which has each evaluated at that very step.
SyncSteps SyncStepsOf(const TrialSpec& spec, const StepPlan& plan, std::vector<int64_t> compared);
// What of `parameters` an outer optimizer needs; null without one.
std::unique_ptr<OuterSgd> MakeOuter(const TrialSpec& spec, const Mesh& mesh,
                                    const std::vector<Piece>& parameters);
// `state`, which outlives it, has a home of MakeHome's with the values to begin with. `layout`: of
// the checkpoint resumed from.
std::unique_ptr<Strategy> MakeStrategy(TrainingState& state, const Membership& members,
                                       BucketLayout layout);

}  // namespace dt::trainer
