// spec.cc: protobuf JSON to TrialSpec. Integers of 64 bits arrive as strings there.
#include "worker/trainer/trial/spec.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace dt::trainer {
namespace {

using nlohmann::json;

absl::Status Wrong(const std::string& path, const std::string& value, const std::string& allowed) {
  return ConfigError(path + ": " + value + " is not " + allowed);
}

// Reads the fields of one section; the first error sticks.
class Section {
 public:
  Section(const json& spec, const char* name, absl::Status& error) : name_(name), error_(error) {
    const auto found = spec.find(name);
    if (found == spec.end()) return;
    if (!found->is_object()) {
      Fail(Wrong(name, found->dump(), "a section with fields; leave it out for its defaults"));
      return;
    }
    fields_ = &*found;
  }

  void Integer(const char* field, int64_t min, int64_t max, int64_t& out) {
    const json* value = Find(field);
    if (value == nullptr) return;
    const std::optional<int64_t> read = ReadInteger(*value);
    if (!read || *read < min || *read > max) {
      Fail(Wrong(Path(field), value->dump(),
                 "an integer from " + std::to_string(min) + " to " + std::to_string(max)));
      return;
    }
    out = *read;
  }

  void Number(const char* field, double min, double max, double& out) {
    const json* value = Find(field);
    if (value == nullptr) return;
    if (!value->is_number() || !(value->get<double>() >= min) || !(value->get<double>() <= max)) {
      Fail(Wrong(Path(field), value->dump(),
                 "a number from " + json(min).dump() + " to " + json(max).dump()));
      return;
    }
    out = value->get<double>();
  }

  void Flag(const char* field, bool& out) {
    const json* value = Find(field);
    if (value == nullptr) return;
    if (!value->is_boolean()) {
      Fail(Wrong(Path(field), value->dump(), "true or false"));
      return;
    }
    out = value->get<bool>();
  }

  void Text(const char* field, std::string& out) {
    const json* value = Find(field);
    if (value == nullptr) return;
    if (!value->is_string()) {
      Fail(Wrong(Path(field), value->dump(), "text"));
      return;
    }
    out = value->get<std::string>();
  }

  template <typename Enum>
  void Choice(const char* field, const std::map<std::string, Enum>& choices, Enum& out) {
    std::string word;
    Text(field, word);
    if (word.empty()) return;
    const auto found = choices.find(word);
    if (found == choices.end()) {
      std::string words;
      for (const auto& [known, meaning] : choices) words += (words.empty() ? "" : ", ") + known;
      Fail(Wrong(Path(field), "'" + word + "'", "one of " + words));
      return;
    }
    out = found->second;
  }

  const json* Find(const char* field) const {
    if (fields_ == nullptr || !error_.ok()) return nullptr;
    const auto found = fields_->find(field);
    return found == fields_->end() || found->is_null() ? nullptr : &*found;
  }
  std::string Path(const char* field) const { return std::string(name_) + "." + field; }
  void Fail(const absl::Status& error) { error_.Update(error); }

  static std::optional<int64_t> ReadInteger(const json& value) {
    if (value.is_number_unsigned()) {
      const uint64_t read = value.get<uint64_t>();
      if (read > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(read);
    }
    if (value.is_number_integer()) return value.get<int64_t>();
    if (!value.is_string()) return std::nullopt;
    const std::string& text = value.get_ref<const std::string&>();
    char* end = nullptr;
    errno = 0;
    const long long read = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
    return read;
  }

 private:
  const char* name_;
  const json* fields_ = nullptr;
  absl::Status& error_;
};

// The bounds that dtctl has for submitted files; JSON holds whole numbers exactly up to kAny.
constexpr int64_t kAny = (int64_t{1} << 53) - 1;
constexpr int64_t kBatchMax = int64_t{1} << 20;
constexpr int64_t kGlobalBatchMax = int64_t{1} << 32;

// Sizes of the presets; spec/ resolves them for submitted files, this serves `dttrain --spec`.
std::optional<ModelSpec> Preset(const std::string& name) {
  ModelSpec model;  // gpt2
  if (name.empty() || name == "gpt2") return model;
  const auto sized = [&](int64_t layers, int64_t heads, int64_t width) {
    model.n_layer = layers;
    model.n_head = heads;
    model.n_embd = width;
    model.n_ff = 4 * width;
    return model;
  };
  if (name == "gpt2-medium") return sized(24, 16, 1024);
  if (name == "gpt2-large") return sized(36, 20, 1280);
  if (name == "gpt2-xl") return sized(48, 25, 1600);
  if (name == "tiny_transformer") {
    model.n_layer = 5;
    model.n_head = 5;
    model.n_embd = 300;
    model.n_ff = 2048;
    model.n_positions = 2048;
    model.vocab_pad = model.vocab_size;
    model.tie_head = false;
    model.head_bias = true;
    model.norm = Norm::kPost;
    model.activation = Activation::kRelu;
    model.positions = Positions::kSinusoidal;
    return model;
  }
  return std::nullopt;
}

void ReadModel(const json& spec, absl::Status& error, ModelSpec& model) {
  Section section(spec, "model", error);
  std::string preset;
  section.Text("preset", preset);
  const std::optional<ModelSpec> sizes = Preset(preset);
  if (!sizes) {
    section.Fail(Wrong("model.preset", "'" + preset + "'",
                       "one of gpt2, gpt2-medium, gpt2-large, gpt2-xl, tiny_transformer"));
    return;
  }
  model = *sizes;
  section.Integer("n_layer", 1, 1024, model.n_layer);
  section.Integer("n_head", 1, 1024, model.n_head);
  section.Integer("n_embd", 1, 1 << 20, model.n_embd);
  section.Integer("n_ff", 1, 1 << 22, model.n_ff);
  section.Integer("n_positions", 1, 1 << 24, model.n_positions);
  section.Integer("vocab_size", 1, 1 << 24, model.vocab_size);
  if (section.Find("vocab_pad") == nullptr && model.vocab_size != sizes->vocab_size) {
    model.vocab_pad = model.vocab_size;
  }
  section.Integer("vocab_pad", 0, 1 << 24, model.vocab_pad);
  if (model.vocab_pad == 0) model.vocab_pad = model.vocab_size;
  section.Flag("tie_head", model.tie_head);
  section.Flag("head_bias", model.head_bias);
  section.Flag("bias", model.bias);
  section.Choice<Norm>("norm", {{"pre", Norm::kPre}, {"post", Norm::kPost}}, model.norm);
  section.Choice<Activation>("activation",
                             {{"gelu_tanh", Activation::kGeluTanh},
                              {"gelu", Activation::kGelu},
                              {"relu", Activation::kRelu}},
                             model.activation);
  section.Choice<Positions>(
      "positions", {{"learned", Positions::kLearned}, {"sinusoidal", Positions::kSinusoidal}},
      model.positions);
  section.Number("dropout", 0, 0.99, model.dropout);
  section.Text("init_from", model.init_from);
  section.Choice<ModelSpec::Keep>(
      "activation_checkpointing",
      {{"none", ModelSpec::Keep::kAll}, {"block", ModelSpec::Keep::kBlockInputs}}, model.keep);
  if (model.n_embd % model.n_head != 0) {
    section.Fail(Wrong("model.n_embd", std::to_string(model.n_embd),
                       "a multiple of model.n_head (" + std::to_string(model.n_head) + ")"));
  }
  if (model.vocab_pad < model.vocab_size) {
    section.Fail(Wrong("model.vocab_pad", std::to_string(model.vocab_pad),
                       "at least model.vocab_size (" + std::to_string(model.vocab_size) + ")"));
  }
}

// The global batch in tokens: dtctl sends it beside the size that follows from it.
void ReadBatchTokens(Section& section, TrainSpec& train) {
  int64_t tokens = 0;
  section.Integer("global_batch_tokens", 0, kGlobalBatchMax, tokens);
  if (tokens == 0) return;
  const int64_t sequences = tokens / train.seq_len;
  if (tokens % train.seq_len != 0) {
    section.Fail(Wrong("train.global_batch_tokens", std::to_string(tokens),
                       "a multiple of train.seq_len (" + std::to_string(train.seq_len) + ")"));
  } else if (train.global_batch_size != 0 && train.global_batch_size != sequences) {
    section.Fail(Wrong("train.global_batch_tokens", std::to_string(tokens),
                       "train.global_batch_size (" + std::to_string(train.global_batch_size) +
                           ") × train.seq_len (" + std::to_string(train.seq_len) +
                           "); give one of them"));
  }
  train.global_batch_size = sequences;
}

void ReadTrain(const json& spec, absl::Status& error, TrainSpec& train) {
  Section section(spec, "train", error);
  section.Integer("batch_size", 1, kBatchMax, train.batch_size);
  section.Integer("seq_len", 1, 1 << 24, train.seq_len);
  section.Integer("global_batch_size", 0, kGlobalBatchMax, train.global_batch_size);
  ReadBatchTokens(section, train);
  section.Integer("max_steps", 0, kAny, train.max_steps);
  section.Integer("max_tokens", 0, kAny, train.max_tokens);
  section.Number("epochs", 0, 1e9, train.epochs);
  section.Number("grad_clip", 0, 1e30, train.grad_clip);
  section.Integer("hash_every", 0, kAny, train.hash_every);
  if ((train.max_steps > 0) + (train.max_tokens > 0) + (train.epochs > 0) > 1) {
    section.Fail(ConfigError("train: give one of max_steps, max_tokens and epochs, not several"));
  }
  if (train.max_steps == 0 && train.max_tokens == 0 && train.epochs == 0) train.epochs = 1;
}

void ReadOptimizer(const json& spec, absl::Status& error, TrialSpec& trial) {
  Section optimizer(spec, "optimizer", error);
  enum class Type { kAdamW };
  Type type = Type::kAdamW;
  optimizer.Choice<Type>("type", {{"adamw", Type::kAdamW}}, type);
  OptimizerSpec& out = trial.optimizer;
  optimizer.Number("lr", 0, 1e6, out.lr);
  optimizer.Number("eps", 0, 1, out.eps);
  optimizer.Number("weight_decay", 0, 1e6, out.weight_decay);
  optimizer.Integer("decay_ndim_min", 0, 8, out.decay_ndim_min);
  optimizer.Choice<LrScaling>(
      "scale_lr",
      {{"none", LrScaling::kNone}, {"linear", LrScaling::kLinear}, {"sqrt", LrScaling::kSqrt}},
      out.scale_lr);
  optimizer.Integer("scale_lr_from", 0, kAny, out.scale_lr_from);
  if (out.scale_lr != LrScaling::kNone && out.scale_lr_from == 0) {
    optimizer.Fail(Wrong("optimizer.scale_lr_from", "0", "above 0 where lr is scaled"));
  }
  if (const json* betas = optimizer.Find("betas"); betas != nullptr && !betas->empty()) {
    const auto in_range = [](const json& b) {
      return b.is_number() && b.get<double>() >= 0 && b.get<double>() < 1;
    };
    if (!betas->is_array() || betas->size() != 2 || !in_range((*betas)[0]) ||
        !in_range((*betas)[1])) {
      optimizer.Fail(Wrong("optimizer.betas", betas->dump(), "two numbers from 0 to just below 1"));
    } else {
      out.beta1 = (*betas)[0].get<double>();
      out.beta2 = (*betas)[1].get<double>();
    }
  }
  Section schedule(spec, "schedule", error);
  schedule.Choice<ScheduleType>("type",
                                {{"cosine", ScheduleType::kCosine},
                                 {"linear", ScheduleType::kLinear},
                                 {"constant", ScheduleType::kConstant},
                                 {"wsd", ScheduleType::kWsd}},
                                trial.schedule.type);
  schedule.Integer("warmup_steps", -1, kAny, trial.schedule.warmup_steps);
  schedule.Number("warmup_ratio", 0, 1, trial.schedule.warmup_ratio);
  schedule.Number("min_lr_ratio", 0, 1, trial.schedule.min_lr_ratio);
  schedule.Number("decay_ratio", 0, 1, trial.schedule.decay_ratio);
}

void ReadEvery(Section& section, CheckpointSpec& out) {
  const json* every = section.Find("every");
  if (every == nullptr) return;
  const json steps = every->is_object() ? every->value("steps", json(0)) : json(nullptr);
  const json seconds = every->is_object() ? every->value("seconds", json(0)) : json(nullptr);
  const std::optional<int64_t> read = Section::ReadInteger(steps);
  if (!read || *read < 0 || !seconds.is_number() || !(seconds.get<double>() >= 0)) {
    section.Fail(Wrong("checkpoint.every", every->dump(), "{\"steps\": n} or {\"seconds\": s}"));
    return;
  }
  out.every_steps = *read;
  out.every_seconds = seconds.get<double>();
}

// What an evaluation does besides the validation loss.
void ReadTasks(Section& eval, EvalSpec& out) {
  eval.Text("hellaswag", out.hellaswag);
  eval.Integer("samples", 0, kSamplesMax, out.samples);
  eval.Text("sample_prompt", out.sample_prompt);
  eval.Integer("sample_tokens", 1, 1024, out.sample_tokens);
  eval.Number("sample_temperature", 0, 100, out.sample_temperature);
  eval.Integer("sample_top_k", 0, 1 << 24, out.sample_top_k);
  eval.Text("vocab", out.vocab);
}

void ReadOperations(const json& spec, absl::Status& error, TrialSpec& trial) {
  Section precision(spec, "precision", error);
  precision.Choice<Compute>("compute",
                            {{"auto", Compute::kAuto},
                             {"bf16", Compute::kBf16},
                             {"fp16", Compute::kFp16},
                             {"fp32", Compute::kFp32},
                             {"tf32", Compute::kTf32}},
                            trial.compute);
  enum class Reduce { kFp32 };
  Reduce reduce = Reduce::kFp32;
  precision.Choice<Reduce>("reduce", {{"fp32", Reduce::kFp32}}, reduce);
  Section parallel(spec, "parallel", error);
  enum class Strategy { kDdp };
  Strategy strategy = Strategy::kDdp;
  parallel.Choice<Strategy>("strategy", {{"ddp", Strategy::kDdp}}, strategy);
  parallel.Number("bucket_mb", 1e-3, 1e6, trial.bucket_mb);
  Section eval(spec, "eval", error);
  eval.Integer("every", 0, kAny, trial.eval.every);
  eval.Integer("batches", 0, 1 << 30, trial.eval.batches);
  ReadTasks(eval, trial.eval);
  Section checkpoint(spec, "checkpoint", error);
  ReadEvery(checkpoint, trial.checkpoint);
  checkpoint.Integer("keep_latest", 0, 1 << 20, trial.checkpoint.keep_latest);
  checkpoint.Integer("keep_best", 0, 1 << 20, trial.checkpoint.keep_best);
  Section stop(spec, "stop", error);
  stop.Choice<NonFinite>(
      "nonfinite",
      {{"fail", NonFinite::kFail}, {"skip", NonFinite::kSkip}, {"rollback", NonFinite::kRollback}},
      trial.nonfinite);
  Section logging(spec, "logging", error);
  logging.Integer("every", 1, kAny, trial.logging_every);
  logging.Flag("jsonl", trial.logging_jsonl);
  logging.Flag("tensorboard", trial.logging_tensorboard);
}

// Linear: Goyal et al., "Accurate, Large Minibatch SGD" (2017); root: Krizhevsky, "One weird trick"
// (2014), the usual choice for Adam.
double LrScale(const OptimizerSpec& optimizer, int64_t global_batch) {
  if (optimizer.scale_lr == LrScaling::kNone) return 1;
  const double ratio =
      static_cast<double>(global_batch) / static_cast<double>(optimizer.scale_lr_from);
  return optimizer.scale_lr == LrScaling::kLinear ? ratio : std::sqrt(ratio);
}

}  // namespace

absl::StatusOr<TrialSpec> ParseTrialSpec(const json& spec) {
  if (!spec.is_object()) {
    return ConfigError("the specification is not a JSON object");
  }
  TrialSpec trial;
  absl::Status error;
  if (const auto seed = spec.find("seed"); seed != spec.end()) {
    const std::optional<int64_t> read = Section::ReadInteger(*seed);
    if (!read) return Wrong("seed", seed->dump(), "an integer of 64 bits");
    trial.seed = *read;
  }
  Section data(spec, "data", error);
  data.Text("train", trial.data.train);
  data.Text("val", trial.data.val);
  data.Text("format", trial.data.format);
  data.Flag("shuffle", trial.data.shuffle);
  data.Choice<bool>("tokenizer", {{"gpt2", false}, {"byte", true}}, trial.data.bytes);
  ReadModel(spec, error, trial.model);
  ReadTrain(spec, error, trial.train);
  ReadOptimizer(spec, error, trial);
  ReadOperations(spec, error, trial);
  DT_RETURN_IF_ERROR(error);
  if (trial.data.train.empty()) {
    return ConfigError("data.train is empty; give a glob of token shards under the data root");
  }
  if (trial.train.seq_len > trial.model.n_positions &&
      trial.model.positions == Positions::kLearned) {
    return Wrong("train.seq_len", std::to_string(trial.train.seq_len),
                 "at most model.n_positions (" + std::to_string(trial.model.n_positions) + ")");
  }
  // Sines reach as far as one likes.
  trial.model.n_positions = std::max(trial.model.n_positions, trial.train.seq_len);
  return trial;
}

absl::StatusOr<StepPlan> PlanSteps(const TrialSpec& spec, int rank, int world_size,
                                   uint64_t train_windows) {
  StepPlan plan;
  plan.batch.micro_batch = spec.train.batch_size;
  plan.batch.global_batch = spec.train.global_batch_size > 0 ? spec.train.global_batch_size
                                                             : spec.train.batch_size * world_size;
  plan.batch.world_size = world_size;
  plan.batch.rank = rank;
  DT_RETURN_IF_ERROR(plan.batch.Check());
  plan.tokens_per_step = plan.batch.global_batch * spec.train.seq_len;
  if (spec.train.max_steps > 0) {
    plan.target_steps = spec.train.max_steps;
  } else if (spec.train.max_tokens > 0) {
    plan.target_steps = (spec.train.max_tokens - 1) / plan.tokens_per_step + 1;
  } else {
    plan.target_steps = static_cast<int64_t>(
        StepsOfEpochs(spec.train.epochs, train_windows, plan.batch.global_batch));
  }
  // Samples are counted in 64 bits, and a rank's micro-batches, of which there are no more.
  const int64_t steps_max = std::numeric_limits<int64_t>::max() / plan.batch.global_batch;
  if (plan.target_steps > steps_max) {
    return ConfigError(
        std::to_string(plan.target_steps) + " steps of " + std::to_string(plan.batch.global_batch) +
        " sequences are more than can be counted; with such a batch train for " +
        std::to_string(steps_max) + " steps at most (train.max_steps, max_tokens, epochs)");
  }
  plan.warmup_steps = spec.schedule.warmup_steps >= 0
                          ? spec.schedule.warmup_steps
                          : std::llround(spec.schedule.warmup_ratio * plan.target_steps);
  plan.lr = spec.optimizer.lr * LrScale(spec.optimizer, plan.batch.global_batch);
  return plan;
}

}  // namespace dt::trainer
