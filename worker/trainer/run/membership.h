// membership.h: a rank's role in its gang: the other members, how they stay consistent, and which
// samples are this rank's. All of it depends on the members; training_state.h has what does not.
//
// Ownership: the attempt owns it and destroys it before the state. Fields are in the order in which
//            one uses the other.
// Errors:    Meet returns those of meeting and joining; LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/replicas.h"
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
  SyncSteps sync;                                         // steps after which all ranks are equal
  std::shared_ptr<Mesh> mesh = std::make_shared<Mesh>();  // shared with threads that may abort it
  std::shared_ptr<Timeline> timeline;                     // shared with timed collectives
  std::unique_ptr<TensorGroup> tensor;                    // null: layers are not cut
  std::unique_ptr<StageLink> stages;                      // null: this rank has all layers
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<Loader> loader;
};

// Returns the address at which this rank listens for its peers.
std::string ListenHost(const frames::Start& start);
// Joins `mesh` with the other ranks of the attempt; does nothing for a rank without peers. A stop
// ends it.
absl::Status Meet(const frames::Start& start, const TrialSpec& spec, Device& device,
                  Conversation& conversation, const AttemptOptions& options,
                  const std::shared_ptr<Mesh>& mesh);

// Returns how the gang's ranks hold replicas of the state.
ReplicaShape ReplicasOf(const TrialSpec& spec, int ranks);
// Makes the mesh of the ranks that hold one replica, which are to meet without the other ranks of a
// broken gang. Call it before the store of their first rank is opened, as Mesh::Prepare.
std::shared_ptr<Mesh> PrepareReplica(const frames::Start& start, const TrialSpec& spec,
                                     Device& device);
// Joins these ranks. `host`: the store of the first one, on that rank; the others connect to the
// one that `order` names. Errors: those of joining; the first rank does not wait long for one that
// is lost. A stop ends it.
absl::Status MeetReplica(const std::shared_ptr<Mesh>& replica, Device& device,
                         Conversation& conversation, const std::optional<Rendezvous>& host,
                         const frames::Rescue& order);

// Makes the group of tensor ranks; null if layers are not cut.
std::unique_ptr<TensorGroup> MakeTensorGroup(const TrialSpec& spec, const Membership& members);
// Makes the link to the neighbouring stages; null if a rank has all layers.
std::unique_ptr<StageLink> MakeStageLink(const Membership& members, c10::Device device);
// Returns the pipeline stages for this rank's model.
StageAxis StagesOf(const TrialSpec& spec, const Membership& members);
// Makes the home of parameters for the ranks of `mesh`, by parallel.strategy.
std::unique_ptr<ParameterHome> MakeHome(const TrialSpec& spec, c10::Device device,
                                        const Mesh& mesh);
// Returns the steps after which the ranks of `plan` are equal. `compared`: steps at which a search
// compares trials; each trial is evaluated at exactly these steps.
SyncSteps SyncStepsOf(const TrialSpec& spec, const StepPlan& plan, std::vector<int64_t> compared);
// Makes the outer optimizer for `parameters`; null if there is none.
std::unique_ptr<OuterSgd> MakeOuter(const TrialSpec& spec, const Mesh& mesh,
                                    const std::vector<Piece>& parameters);
// Makes the strategy. `state` must outlive it; its home is from MakeHome and has the initial
// values. `layout`: that of the checkpoint that is resumed.
std::unique_ptr<Strategy> MakeStrategy(TrainingState& state, const Membership& members,
                                       BucketLayout layout);

}  // namespace dt::trainer
