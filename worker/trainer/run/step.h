// step.h: one optimizer step of one rank, and what it cost.
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
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/noise_scale.h"
#include "worker/trainer/parallel/stage_link.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/precision/nonfinite.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Seconds of one step by what they went into.
struct PhaseTimes {
  double data = 0;
  double forward = 0;
  double backward = 0;      // without exposed communication
  double comm_exposed = 0;  // waiting for the other ranks that no computation hid
  double optimizer = 0;
  double Sum() const { return data + forward + backward + comm_exposed + optimizer; }
};

struct StepMeasures {
  std::optional<double> loss;  // mean over this rank's share; none: another stage has it
  double grad_norm = 0;
  int64_t nonfinite_steps = 0;  // of all so far
  // Squared norm of a gradient before averaging, over the whole model: of this data rank's share,
  // or, under Strategy::MeasuresMicroStep, of its first micro-step. 0: there is nothing smaller
  // than the whole batch.
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
    LossScale* loss_scale = nullptr;  // none: precision needs none
    StageLink* stages = nullptr;      // none: a rank has all layers
  };
  explicit Stepper(const Parts& parts);

  // Step number `step`, from 1. `saved`: as of StepNotes. The optimizer never sees a gradient that
  // is not finite. Errors: NonFiniteError where stop.nonfinite is fail and the norm is known at
  // once, as on a CPU.
  enum class Saved { kNo, kMaybe };
  absl::Status Run(int64_t step, Saved saved);
  // The plan says other shares of the micro-steps from the next step on.
  void TakeShares();
  // Waits for the device. Errors: NonFiniteError when the steps so far are reason to end; throws
  // when one of them used what a failed collective left. A checkpoint is written only after this.
  absl::Status CheckFinite();
  // The measures of the newest step. Waits and fails like CheckFinite.
  absl::StatusOr<StepMeasures> Measure();
  double learning_rate() const { return learning_rate_; }
  NonFiniteSteps& nonfinite() { return nonfinite_; }

 private:
  enum Phase { kData, kForward, kBackward, kOptimizer, kGather, kPhases };
  void EndPhase(Phase phase);
  void ClearGradients();
  // Whether a gradient of less than the whole batch is measured in this step.
  bool MeasuresShare(int64_t step) const {
    const int64_t every = p_.spec.logging_every;
    return step % every == 0 && step / every % kNoiseScaleRows == 0;
  }
  // A pass through a chunk between its forward and its backward part, which reads the batch again.
  struct Flight {
    HostBatch batch;
    at::Tensor in;   // hidden states of the stage before, with a gradient in the end
    at::Tensor out;  // hidden states for the stage after, or the loss
  };
  // Begins to receive what an action waits for.
  void Expect(const Action& action);
  // Whether micro-batches of a step share the casts of weights.
  bool SharesCasts() const;
  absl::Status PassAll();
  void SeedDropout(const Action& action);
  absl::Status Forward(const Action& action);
  void Backward(const Action& action);
  void BackwardOfLoss(const at::Tensor& loss);
  absl::Status Update();

  const Parts p_;
  const Compute compute_;
  std::vector<Action> actions_;  // of every step
  double learning_rate_ = 0;
  int64_t step_ = 0;
  NonFiniteSteps nonfinite_;
  std::map<std::pair<int64_t, int64_t>, Flight> flights_;  // by micro-step and chunk
  at::Tensor loss_, norm_;                                 // `loss_`: undefined: another stage's
  at::Tensor local_squared_;                               // undefined: not measured
  Timeline::Moment last_ = 0;
  struct Segment {
    Phase phase;
    Timeline::Moment from, to;
  };
  std::vector<Segment> segments_;
  GradientSpans early_gradients_;  // made in the forward pass, counted as the backward one
};

}  // namespace dt::trainer
