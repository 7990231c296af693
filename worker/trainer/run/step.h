// step.h: one optimizer step of one rank, and its measures.
//
// Ownership: borrows everything; the attempt owns it.
// Errors:    those of the Loader; NonFiniteError; LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "worker/trainer/data/loader.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/optim/adamw.h"
#include "worker/trainer/parallel/actions.h"
#include "worker/trainer/parallel/early_losses.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/noise_scale.h"
#include "worker/trainer/parallel/stage_link.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/precision/nonfinite.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Seconds of one step by phase.
struct PhaseTimes {
  double data = 0;
  double forward = 0;
  double backward = 0;      // without exposed communication
  double comm_exposed = 0;  // waiting for other ranks, not hidden by computation
  double optimizer = 0;
  double Sum() const { return data + forward + backward + comm_exposed + optimizer; }
};

struct StepMeasures {
  std::optional<double> loss;  // mean over this rank's share; empty: another stage has it
  double grad_norm = 0;
  int64_t nonfinite_steps = 0;  // number so far
  // Squared norm over the full model of a gradient before averaging: of this data-parallel rank's
  // share, or, under Strategy::MeasuresMicroStep, of its first micro-step. 0: not measured, or
  // there is no part smaller than the full batch.
  double local_squared = 0;
  PhaseTimes phases;
  CommTotals comm;
};

class Stepper {
 public:
  struct Parts {
    const TrialSpec& spec;
    const StepPlan& plan;
    Device& device;
    Timeline& timeline;
    Transformer& model;
    AdamW& optimizer;
    Loader& loader;
    Mesh& mesh;
    Strategy& strategy;
    LossScale* loss_scale = nullptr;  // null: the precision needs none
    StageLink* stages = nullptr;      // null: this rank has all layers
    EarlyLosses* losses = nullptr;    // null: they are known only after the step
  };
  explicit Stepper(const Parts& parts);

  // Runs step number `step`, from 1. `saved`: see StepNotes. `logged`: it has a row. The optimizer
  // never applies a gradient that is not finite. Errors: NonFiniteError if stop.nonfinite is fail
  // and the norm is known at once, as on a CPU.
  enum class Saved { kNo, kMaybe };
  absl::Status Run(int64_t step, Saved saved, bool logged);
  // Returns whether parameters and optimizer are those after a complete step. Not after an error
  // within an update.
  bool intact() const { return !updating_; }
  // Takes the shares of micro-steps from the plan, for the next step and later.
  void TakeShares();
  // Waits for the device. Errors: NonFiniteError if the steps so far are a reason to end. Throws if
  // one of them used the results of a failed collective. Checkpoints are written only after this
  // call.
  absl::Status CheckFinite();
  // Returns the measures of the newest step. Waits and fails like CheckFinite.
  absl::StatusOr<StepMeasures> Measure();
  double learning_rate() const { return learning_rate_; }
  NonFiniteSteps& nonfinite() { return nonfinite_; }

 private:
  enum Phase { kData, kForward, kBackward, kOptimizer, kGather, kPhases };
  void EndPhase(Phase phase);
  void ClearGradients();
  // Returns whether this step measures a gradient of less than the full batch.
  bool MeasuresShare(int64_t step) const {
    const int64_t every = p_.spec.logging_every;
    return step % every == 0 && step / every % kNoiseScaleRows == 0;
  }
  // A forward pass through a chunk whose backward pass is still to come; that one needs the batch
  // again.
  struct Flight {
    HostBatch batch;
    at::Tensor in;   // activations from the previous stage; has a gradient at the end
    at::Tensor out;  // activations for the next stage, or the loss
  };
  // Starts to receive what the action needs.
  void Expect(const Action& action);
  // Returns whether micro-batches of a step share weight casts.
  bool SharesCasts() const;
  absl::Status PassAll();
  // Starts to give this rank's loss to the others.
  void ShareLoss();
  void SeedDropout(const Action& action);
  absl::Status Forward(const Action& action);
  void Backward(const Action& action);
  void BackwardOfLoss(const at::Tensor& loss);
  absl::Status Update();

  const Parts p_;
  const Compute compute_;
  std::vector<Action> actions_;  // of every step
  size_t last_forward_ = 0;      // its index in actions_
  bool updating_ = false;
  bool shares_loss_ = false;  // the other ranks get this step's loss before the update
  double learning_rate_ = 0;
  int64_t step_ = 0;
  NonFiniteSteps nonfinite_;
  std::map<std::pair<int64_t, int64_t>, Flight> flights_;  // by micro-step and chunk
  // `loss_` is undefined if another stage has it.
  at::Tensor loss_, norm_;
  at::Tensor local_squared_;  // undefined: not measured
  Timeline::Moment last_ = 0;
  struct Segment {
    Phase phase;
    Timeline::Moment from, to;
  };
  std::vector<Segment> segments_;
  GradientSpans early_gradients_;  // computed in the forward pass, counted as backward
};

}  // namespace dt::trainer
