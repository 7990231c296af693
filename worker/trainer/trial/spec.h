// spec.h: what one trial trains: a resolved specification, as an agent sends it (v1::Spec written
// as protobuf JSON) or `dtctl resolve` writes it.
//
// Role:   pure; no LibTorch. Every field must be there: types, ranges and words are those of the
//         field table (spec/table/), defaults and presets are for those who resolve, not for here.
// Errors: ConfigError, naming field, value and what is allowed. The coordinator has checked all
//         this before; a file given to `dttrain --spec` has not been seen by anyone.
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
// What gradients are rounded to while they travel.
enum class Wire { kFp32, kBf16, kFp16 };
const char* WordOf(Wire wire);
enum class Compression { kNone, kAuto, kPowerSgd, kTopK };
// Who computes how many of a step's micro-batches: each data rank as many, or by their speed.
enum class Balance { kNone, kAuto };
// In which order a stage of a pipeline passes forward and back.
enum class PipelineSchedule { k1F1B, kGPipe, kInterleaved };

struct DataSpec {
  std::string train;
  std::string val;  // empty: no validation
  std::string format;
  bool shuffle = false;
  Tokenizer tokenizer{};          // that made the shards; kAuto until SettleTokenizer (tokenizer.h)
  std::string vocabulary_sha256;  // of the vocabulary that made them, where that was recorded
};
struct ModelSpec {
  int64_t n_layer = 0;
  int64_t n_head = 0;
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  int64_t n_positions = 0;
  int64_t vocab_size = 0;  // 0: until SettleTokenizer
  int64_t vocab_pad = 0;   // rows of the embedding, >= vocab_size; 0: the same
  bool tie_head = false;
  bool head_bias = false;
  bool bias = false;
  Norm norm{};
  Activation activation{};
  Positions positions{};
  double dropout = 0;
  std::string init_from;  // folder of a GPT-2 in Hugging Face's files; empty: random weights
  enum class Keep { kAll, kBlockInputs } keep{};  // of activations, for backward
};
struct TrainSpec {
  int64_t batch_size = 0;  // sequences per data rank and micro-step
  int64_t seq_len = 0;
  int64_t global_batch_size = 0;  // sequences per step over all ranks; 0: batch_size × data ranks
  int64_t max_steps = 0;          // one of these three is above 0
  int64_t max_tokens = 0;
  double epochs = 0;
  double max_time = 0;     // seconds of all attempts; 0: no limit
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
  int64_t scale_lr_from = 0;  // sequences of the global batch for which lr is meant
};
struct ScheduleSpec {
  ScheduleType type{};
  int64_t warmup_steps = 0;  // -1: from warmup_ratio
  double warmup_ratio = 0;
  double min_lr_ratio = 0;
  double decay_ratio = 0;  // of kWsd
};
struct EvalSpec {
  int64_t every = 0;    // steps; 0: only at the end
  int64_t batches = 0;  // micro-batches; 0: tokens says it
  int64_t tokens = 0;
  std::string hellaswag;  // file; empty: none
  int64_t samples = 0;    // texts generated at each evaluation
  std::string sample_prompt;
  int64_t sample_tokens = 0;
  double sample_temperature = 0;  // 0: the likeliest token
  int64_t sample_top_k = 0;       // 0: all
  std::string vocab;
};
struct CheckpointSpec {
  int64_t every_steps = 0;   // 0: not by steps
  double every_seconds = 0;  // 0: not by time; neither: only at the end
  double first_seconds = 0;  // of an attempt's first by time; 0: as the others
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
  int64_t shard = 0;     // of hsdp
  int64_t tensor = 1;    // ranks that compute each layer together
  bool sequence = true;  // and, between layers, share its tokens
  int64_t pipeline = 1;  // stages of layers
  PipelineSchedule pipeline_schedule{};
  int64_t interleave = 1;  // of kInterleaved: chunks of layers that each stage has
  int64_t ChunksEach() const {
    return pipeline_schedule == PipelineSchedule::kInterleaved ? interleave : 1;
  }
  int64_t sync_every = 1;
  double outer_lr = 1;
  double outer_momentum = 0;
  double bucket_mb = 0;
  Wire wire{};
  Compression compression{};
  int64_t rank = 0;  // of powersgd
  double share = 0;  // of topk
  Balance balance{};
  EvalSpec eval;
  CheckpointSpec checkpoint;
  NonFinite nonfinite{};
  int64_t logging_every = 0;
  bool logging_jsonl = false, logging_tensorboard = false;
};

// Errors: ConfigError for an unknown section or field, a missing one, one beyond the table's range,
// and for combinations that cannot be trained.
absl::StatusOr<TrialSpec> ParseTrialSpec(const nlohmann::json& spec);

// The model in the words of the experiment file, for manifests; what is not of its shape left out.
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
// The step at `1 / divisor` of the target, rounded up. REQUIRES: divisor >= 1.
inline int64_t ShareOfSteps(int64_t target_steps, uint64_t divisor) {
  const auto target = static_cast<uint64_t>(target_steps);
  return static_cast<int64_t>(target / divisor + (target % divisor != 0));
}
// Steps of warm-up where a ratio says them.
int64_t WarmupSteps(double ratio, int64_t target_steps);
// The plan of `rank` among `world_size`: ranks of one layer, and the stages of one pipeline, have
// the same share of the batch. Errors: ConfigError when they cannot all have as many ranks, and
// when the global batch cannot be dealt.
absl::StatusOr<StepPlan> PlanSteps(const TrialSpec& spec, int rank, int world_size,
                                   uint64_t train_windows);

}  // namespace dt::trainer
