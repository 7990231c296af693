// spec.h: the resolved specification of one trial, as sent by an agent (v1::Spec as protobuf JSON)
// or written by `dtctl resolve`.
//
// Role:   pure; no LibTorch. Every field must be present. Types, ranges and words are those of the
//         field table (spec/table/); `dtctl resolve` and the coordinator apply defaults and presets
//         before.
// Errors: ConfigError that names the field, its value and what is allowed. The coordinator has
//         checked all this before, but nobody has checked a file given to `dttrain --spec`.
// Tests:  tests/worker/trainer/trial/spec_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/status.h"
#include "plan/cost.h"
#include "worker/trainer/data/sampler.h"

namespace dt::trainer {

enum class Norm { kPre, kPost };
enum class Activation { kGeluTanh, kGelu, kRelu };
enum class Positions { kLearned, kSinusoidal };
enum class ScheduleType { kCosine, kLinear, kConstant, kWsd };
enum class LrScaling { kNone, kLinear, kSqrt };
enum class NonFinite { kFail, kSkip, kRollback };
using plan::Sharing;
enum class Compute { kAuto, kBf16, kFp16, kFp32, kTf32 };
enum class Tokenizer { kAuto, kGpt2, kByte };
// Type that gradients are rounded to while they are sent.
enum class Wire { kFp32, kBf16, kFp16 };
const char* WordOf(Wire wire);
enum class Compression { kNone, kAuto, kPowerSgd, kTopK };
// Distribution of a step's micro-batches: the same number on each data-parallel rank, or by speed.
enum class Balance { kNone, kAuto };
// Order of forward and backward passes in a pipeline stage.
enum class PipelineSchedule { k1F1B, kGPipe, kInterleaved };

struct DataSpec {
  std::string train;
  std::string val;  // empty: no validation
  std::string format;
  bool shuffle = false;
  Tokenizer tokenizer{};          // tokenizer of the shards; kAuto until SettleTokenizer
                                  // (tokenizer.h)
  std::string vocabulary_sha256;  // of the shards' vocabulary; empty if not recorded
};
struct ModelSpec {
  int64_t n_layer = 0;
  int64_t n_head = 0;
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  int64_t n_positions = 0;
  int64_t vocab_size = 0;  // 0: set by SettleTokenizer
  int64_t vocab_pad = 0;   // rows of the embedding, >= vocab_size; 0: equal to it
  bool tie_head = false;
  bool head_bias = false;
  bool bias = false;
  Norm norm{};
  Activation activation{};
  Positions positions{};
  double dropout = 0;
  std::string init_from;  // folder of a GPT-2 in Hugging Face format; empty: random weights
  enum class Keep { kAll, kBlockInputs } keep{};  // activations kept for the backward pass
};
struct TrainSpec {
  int64_t batch_size = 0;  // sequences per data-parallel rank and micro-step
  int64_t seq_len = 0;
  int64_t global_batch_size = 0;  // sequences per step over all ranks; 0: batch_size ×
                                  // data-parallel ranks
  int64_t max_steps = 0;          // exactly one of max_steps, max_tokens, epochs is above 0
  int64_t max_tokens = 0;
  double epochs = 0;
  double max_time = 0;     // seconds over all attempts; 0: no limit
  double grad_clip = 0;    // 0: off
  int64_t hash_every = 0;  // steps; 0: never
};
struct OptimizerSpec {
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  int64_t decay_ndim_min = 0;
  LrScaling scale_lr{};
  int64_t scale_lr_from = 0;  // global batch, in sequences, for which lr was chosen
};
struct ScheduleSpec {
  ScheduleType type{};
  int64_t warmup_steps = 0;  // -1: from warmup_ratio
  double warmup_ratio = 0;
  double min_lr_ratio = 0;
  double decay_ratio = 0;  // for kWsd
};
struct EvalSpec {
  int64_t every = 0;    // steps; 0: only at the end
  int64_t batches = 0;  // micro-batches; 0: use tokens
  int64_t tokens = 0;
  std::string hellaswag;  // file; empty: none
  int64_t samples = 0;    // texts generated at each evaluation
  std::string sample_prompt;
  int64_t sample_tokens = 0;
  double sample_temperature = 0;  // 0: greedy
  int64_t sample_top_k = 0;       // 0: all
  std::string vocab;
};
struct CheckpointSpec {
  int64_t every_steps = 0;   // 0: not by steps
  double every_seconds = 0;  // 0: not by time; neither: only at the end
  double first_seconds = 0;  // first time-based interval of an attempt; 0: like the others
  int64_t keep_latest = 0;
  int64_t keep_best = 0;
};
struct TrialSpec {
  int64_t seed = 0;
  DataSpec data;
  ModelSpec model;
  TrainSpec train;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  Compute compute{};
  Sharing sharing{};
  int64_t shard = 0;     // for hsdp
  int64_t tensor = 1;    // tensor-parallel ranks per layer
  bool sequence = true;  // sequence parallelism: the tensor ranks split the tokens between layers
  int64_t pipeline = 1;  // number of pipeline stages
  PipelineSchedule pipeline_schedule{};
  int64_t interleave = 1;  // for kInterleaved: chunks of layers per stage
  int64_t ChunksEach() const {
    return pipeline_schedule == PipelineSchedule::kInterleaved ? interleave : 1;
  }
  int64_t sync_every = 1;
  double outer_lr = 1;
  double outer_momentum = 0;
  double bucket_mb = 0;
  Wire wire{};
  Compression compression{};
  int64_t rank = 0;  // for powersgd
  double share = 0;  // for topk
  Balance balance{};
  EvalSpec eval;
  CheckpointSpec checkpoint;
  NonFinite nonfinite{};
  int64_t logging_every = 0;
  bool logging_jsonl = false, logging_tensorboard = false;
};

// Parses and checks a specification. Errors: ConfigError for an unknown section or field, a missing
// field, a value outside the table's range, or a combination that cannot be trained.
absl::StatusOr<TrialSpec> ParseTrialSpec(const nlohmann::json& spec);

// Returns the model's fields by their names in the experiment file, for manifests. Leaves out
// fields that do not affect the model's shape.
nlohmann::json ModelFields(const ModelSpec& model);

// Number of steps, and the division of each into ranks and micro-steps.
struct StepPlan {
  BatchPlan batch;
  int64_t tokens_per_step = 0;
  int64_t target_steps = 0;
  int64_t warmup_steps = 0;
  double lr = 0;  // peak of the schedule; scaled by the batch size if scale_lr is set
};
// Returns whether a step, counted from 1, has a row of metrics; the last step always has one.
inline bool IsLogged(const TrialSpec& spec, const StepPlan& plan, int64_t step) {
  return step % spec.logging_every == 0 || step == plan.target_steps;
}
// Returns `1 / divisor` of the target steps, rounded up. REQUIRES: divisor >= 1.
inline int64_t ShareOfSteps(int64_t target_steps, uint64_t divisor) {
  const auto target = static_cast<uint64_t>(target_steps);
  return static_cast<int64_t>(target / divisor + (target % divisor != 0));
}
// Returns the number of warm-up steps for a ratio of all steps.
int64_t WarmupSteps(double ratio, int64_t target_steps);
// Returns the plan of `rank` out of `world_size`. All tensor and pipeline ranks of one model
// replica have the same share of the batch. Errors: ConfigError if world_size is not a multiple of
// the ranks per replica, or if the global batch cannot be divided.
absl::StatusOr<StepPlan> PlanSteps(const TrialSpec& spec, int rank, int world_size,
                                   uint64_t train_windows);

}  // namespace dt::trainer
