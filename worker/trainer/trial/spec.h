// spec.h: what one trial trains, as the trainer reads it from v1::Spec written as protobuf JSON.
//
// Role:   pure; no LibTorch. Field names, order and meaning are those of
// proto/dtrain/v1/model.proto. Errors: ConfigError, naming field, value and what is allowed. The
// coordinator has checked all this
//         before; a file given to `dttrain --spec` has not been seen by anyone.
// Tests:  tests/worker/trainer/trial/spec_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/status.h"
#include "worker/trainer/data/sampler.h"

namespace dt::trainer {

enum class Norm { kPre, kPost };
enum class Activation { kGeluTanh, kGelu, kRelu };
enum class Positions { kLearned, kSinusoidal };
enum class ScheduleType { kCosine, kLinear, kConstant, kWsd };
enum class LrScaling { kNone, kLinear, kSqrt };
enum class NonFinite { kFail, kSkip, kRollback };
enum class Compute { kAuto, kBf16, kFp16, kFp32, kTf32 };

struct DataSpec {
  std::string train;
  std::string val;
  std::string format = "auto";
  bool shuffle = false;
  bool bytes = false;  // the byte tokenizer made the shards, not GPT-2's
};
struct ModelSpec {
  int64_t n_layer = 12;
  int64_t n_head = 12;
  int64_t n_embd = 768;
  int64_t n_ff = 3072;
  int64_t n_positions = 1024;
  int64_t vocab_size = 50257;
  int64_t vocab_pad = 50304;  // rows of the embedding, >= vocab_size
  bool tie_head = true;
  bool head_bias = false;
  bool bias = true;
  Norm norm = Norm::kPre;
  Activation activation = Activation::kGeluTanh;
  Positions positions = Positions::kLearned;
  double dropout = 0;
  std::string init_from;  // folder of a GPT-2 in Hugging Face's files; empty: random weights
  enum class Keep { kAll, kBlockInputs } keep = Keep::kAll;  // of activations, for backward
};
struct TrainSpec {
  int64_t batch_size = 8;  // sequences per rank and micro-step
  int64_t seq_len = 1024;
  int64_t global_batch_size = 0;  // sequences per step over all ranks; 0: batch_size × ranks
  int64_t max_steps = 0;          // at most one of these three is above 0
  int64_t max_tokens = 0;
  double epochs = 0;
  double grad_clip = 1.0;  // 0: off
  int64_t hash_every = 0;  // steps; 0: never
};
struct OptimizerSpec {
  double lr = 6e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  int64_t decay_ndim_min = 2;
  LrScaling scale_lr = LrScaling::kNone;
  int64_t scale_lr_from = 0;  // sequences of the global batch for which lr is meant
};
struct ScheduleSpec {
  ScheduleType type = ScheduleType::kCosine;
  int64_t warmup_steps = -1;  // -1: from warmup_ratio
  double warmup_ratio = 0.02;
  double min_lr_ratio = 0.1;
  double decay_ratio = 0.2;  // of kWsd
};
// Generated texts are kept with their evaluation, whose message has room for so much: limits.h,
// which needs Abseil, has the same bounds.
inline constexpr int64_t kSamplesMax = 4;
inline constexpr size_t kSampleBytesMax = 3 << 10;
struct EvalSpec {
  int64_t every = 250;  // steps; 0: only at the end
  int64_t batches = 20;
  std::string hellaswag;  // file; empty: none
  int64_t samples = 0;    // texts generated at each evaluation
  std::string sample_prompt;
  int64_t sample_tokens = 64;
  double sample_temperature = 1;  // 0: the likeliest token
  int64_t sample_top_k = 50;      // 0: all
  std::string vocab = "vocab.bpe";
};
struct CheckpointSpec {
  int64_t every_steps = 0;   // 0: not by steps
  double every_seconds = 0;  // 0: not by time; neither: only at the end
  int64_t keep_latest = 1;
  int64_t keep_best = 1;
};
struct TrialSpec {
  int64_t seed = 0;
  DataSpec data;
  ModelSpec model;
  TrainSpec train;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  Compute compute = Compute::kAuto;
  double bucket_mb = 25;
  EvalSpec eval;
  CheckpointSpec checkpoint;
  NonFinite nonfinite = NonFinite::kFail;
  int64_t logging_every = 1;
  bool logging_jsonl = true, logging_tensorboard = true;
};

// Absent fields take the defaults of the experiment file (those of model.preset for the model).
absl::StatusOr<TrialSpec> ParseTrialSpec(const nlohmann::json& spec);

// The model in the words of the experiment file, every field present.
nlohmann::json ModelFields(const ModelSpec& model);

// How many steps there are, and how each is cut into ranks and micro-steps.
struct StepPlan {
  BatchPlan batch;
  int64_t tokens_per_step = 0;
  int64_t target_steps = 0;
  int64_t warmup_steps = 0;
  double lr = 0;  // the highest of the schedule, scaled by the batch where asked
};
// Whether a step, counted from 1, has a row of metrics; the last one always does.
inline bool IsLogged(const TrialSpec& spec, const StepPlan& plan, int64_t step) {
  return step % spec.logging_every == 0 || step == plan.target_steps;
}
// Errors: ConfigError when the global batch cannot be dealt to the ranks.
absl::StatusOr<StepPlan> PlanSteps(const TrialSpec& spec, int rank, int world_size,
                                   uint64_t train_windows);

}  // namespace dt::trainer
