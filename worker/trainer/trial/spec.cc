// spec.cc: converts JSON to TrialSpec, and the model back. Protobuf's JSON has 64-bit integers as
// strings.
#include "worker/trainer/trial/spec.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "spec/table/combination.h"
#include "spec/table/field.h"

namespace dt::trainer {
namespace {

using nlohmann::json;
using spec::Field;
using spec::FieldType;

// Words of each enum, in the order of its enumerators.
using Words = std::span<const char* const>;
#define DT_WORDS(Enum, ...)                                \
  Words WordsOf(Enum) {                                    \
    static constexpr const char* kWords[] = {__VA_ARGS__}; \
    return kWords;                                         \
  }
DT_WORDS(Norm, "pre", "post")
DT_WORDS(Activation, "gelu_tanh", "gelu", "relu")
DT_WORDS(Positions, "learned", "sinusoidal")
DT_WORDS(ScheduleType, "cosine", "linear", "constant", "wsd")
DT_WORDS(LrScaling, "none", "linear", "sqrt")
DT_WORDS(NonFinite, "fail", "skip", "rollback")
DT_WORDS(Compute, "auto", "bf16", "fp16", "fp32", "tf32")
DT_WORDS(Tokenizer, "auto", "gpt2", "byte")
DT_WORDS(Wire, "fp32", "bf16", "fp16")
DT_WORDS(Compression, "none", "auto", "powersgd", "topk")
DT_WORDS(Balance, "none", "auto")
DT_WORDS(PipelineSchedule, "1f1b", "gpipe", "interleaved")
DT_WORDS(ModelSpec::Keep, "none", "block")
#undef DT_WORDS
Words WordsOf(Sharing) { return plan::kSharingWords; }

// Calls visit with each field's path and member. Fields that are missing here concern other
// components (resources, retries), repeat another field (model.preset, train.global_batch_tokens),
// or have only one allowed value so far.
template <typename Visit>
void VisitModel(ModelSpec& model, const Visit& visit) {
  visit("model.n_layer", model.n_layer);
  visit("model.n_head", model.n_head);
  visit("model.n_embd", model.n_embd);
  visit("model.n_ff", model.n_ff);
  visit("model.n_positions", model.n_positions);
  visit("model.vocab_size", model.vocab_size);
  visit("model.vocab_pad", model.vocab_pad);
  visit("model.tie_head", model.tie_head);
  visit("model.head_bias", model.head_bias);
  visit("model.bias", model.bias);
  visit("model.norm", model.norm);
  visit("model.activation", model.activation);
  visit("model.positions", model.positions);
  visit("model.dropout", model.dropout);
}

template <typename Visit>
void VisitTraining(TrialSpec& trial, const Visit& visit) {
  visit("train.batch_size", trial.train.batch_size);
  visit("train.seq_len", trial.train.seq_len);
  visit("train.global_batch_size", trial.train.global_batch_size);
  visit("train.max_steps", trial.train.max_steps);
  visit("train.max_tokens", trial.train.max_tokens);
  visit("train.epochs", trial.train.epochs);
  visit("train.max_time", trial.train.max_time);
  visit("train.grad_clip", trial.train.grad_clip);
  visit("train.hash_every", trial.train.hash_every);
  visit("optimizer.lr", trial.optimizer.lr);
  visit("optimizer.eps", trial.optimizer.eps);
  visit("optimizer.weight_decay", trial.optimizer.weight_decay);
  visit("optimizer.decay_ndim_min", trial.optimizer.decay_ndim_min);
  visit("optimizer.scale_lr", trial.optimizer.scale_lr);
  visit("optimizer.scale_lr_from", trial.optimizer.scale_lr_from);
  visit("schedule.type", trial.schedule.type);
  visit("schedule.warmup_steps", trial.schedule.warmup_steps);
  visit("schedule.warmup_ratio", trial.schedule.warmup_ratio);
  visit("schedule.min_lr_ratio", trial.schedule.min_lr_ratio);
  visit("schedule.decay_ratio", trial.schedule.decay_ratio);
}

template <typename Visit>
void VisitTrial(TrialSpec& trial, const Visit& visit) {
  visit("seed", trial.seed);
  visit("data.train", trial.data.train);
  visit("data.val", trial.data.val);
  visit("data.format", trial.data.format);
  visit("data.shuffle", trial.data.shuffle);
  visit("data.tokenizer", trial.data.tokenizer);
  VisitModel(trial.model, visit);
  visit("model.init_from", trial.model.init_from);
  visit("model.activation_checkpointing", trial.model.keep);
  VisitTraining(trial, visit);
  visit("precision.compute", trial.compute);
  visit("parallel.strategy", trial.sharing);
  visit("parallel.shard", trial.shard);
  visit("parallel.tensor", trial.tensor);
  visit("parallel.sequence", trial.sequence);
  visit("parallel.pipeline", trial.pipeline);
  visit("parallel.schedule", trial.pipeline_schedule);
  visit("parallel.interleave", trial.interleave);
  visit("parallel.sync_every", trial.sync_every);
  visit("parallel.outer_lr", trial.outer_lr);
  visit("parallel.outer_momentum", trial.outer_momentum);
  visit("parallel.bucket_mb", trial.bucket_mb);
  visit("precision.reduce", trial.wire);
  visit("parallel.compression", trial.compression);
  visit("parallel.rank", trial.rank);
  visit("parallel.share", trial.share);
  visit("parallel.balance", trial.balance);
  visit("eval.every", trial.eval.every);
  visit("eval.batches", trial.eval.batches);
  visit("eval.tokens", trial.eval.tokens);
  visit("eval.hellaswag", trial.eval.hellaswag);
  visit("eval.samples", trial.eval.samples);
  visit("eval.sample_prompt", trial.eval.sample_prompt);
  visit("eval.sample_tokens", trial.eval.sample_tokens);
  visit("eval.sample_temperature", trial.eval.sample_temperature);
  visit("eval.sample_top_k", trial.eval.sample_top_k);
  visit("eval.vocab", trial.eval.vocab);
  visit("checkpoint.keep_latest", trial.checkpoint.keep_latest);
  visit("checkpoint.keep_best", trial.checkpoint.keep_best);
  visit("stop.nonfinite", trial.nonfinite);
  visit("logging.every", trial.logging_every);
  visit("logging.jsonl", trial.logging_jsonl);
  visit("logging.tensorboard", trial.logging_tensorboard);
}

// --- Reading ---
std::optional<int64_t> IntegerOf(const json& value) {
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

const json* Find(const json& spec, const Field& field) {
  const auto [section, name] = spec::JsonPlaceOf(field);
  const json* in = &spec;
  if (!section.empty()) {
    const auto found = spec.find(section);
    if (found == spec.end()) return nullptr;
    in = &*found;
  }
  const auto found = in->find(name);
  return found == in->end() || found->is_null() ? nullptr : &*found;
}

// Checks type and range of one value. Combinations of values are checked by the functions below.
absl::Status CheckValue(const Field& field, const json& value) {
  const auto wrong = [&](const std::string& allowed) {
    return ConfigError(absl::StrCat(field.path, " is ", value.dump(), "; it must be ", allowed));
  };
  const auto number = [&](const json& one) {
    return one.is_number() && spec::InRange(field, one.get<double>());
  };
  bool right = true;
  switch (field.type) {
    case FieldType::kInteger: {
      const std::optional<int64_t> read = IntegerOf(value);
      if (!read) return wrong(spec::TypeText(field));
      right = spec::InRange(field, static_cast<double>(*read));
      break;
    }
    case FieldType::kNumber:
    case FieldType::kDuration:
      if (!value.is_number()) return wrong("a number");
      right = number(value);
      break;
    case FieldType::kText:
      if (!value.is_string()) return wrong(spec::TypeText(field));
      break;
    case FieldType::kFlag:
      if (!value.is_boolean()) return wrong(spec::TypeText(field));
      break;
    case FieldType::kChoice:
      if (std::find(field.choices.begin(), field.choices.end(), value) == field.choices.end()) {
        return wrong(spec::TypeText(field));
      }
      break;
    case FieldType::kNumbers:
      if (!value.is_array() || std::ssize(value) != field.count)
        return wrong(spec::TypeText(field));
      right = std::all_of(value.begin(), value.end(), number);
      break;
    case FieldType::kEvery: {
      if (!value.is_object()) return wrong("{\"steps\": n} or {\"seconds\": s}");
      const std::optional<int64_t> steps = IntegerOf(value.value("steps", json(0)));
      const json seconds = value.value("seconds", json(0));
      const json first = value.value("first_seconds", json(0));
      if (!steps || *steps < 0 || !(seconds == 0 || number(seconds)) ||
          !(first == 0 || number(first))) {
        return wrong(
            absl::StrCat("{\"steps\": n} or {\"seconds\": s}, s ", spec::RangeText(field)));
      }
      break;
    }
    case FieldType::kLabels:
    case FieldType::kTexts:
      break;
  }
  return right ? absl::OkStatus() : wrong(spec::RangeText(field));
}

// End of every message about a complete specification.
constexpr char kWriteOne[] = "; 'dtctl resolve FILE' writes a specification with every field";

// Refuses sections and fields that are not in the table.
absl::Status RefuseUnknown(const json& spec) {
  std::set<std::string> known;
  for (const Field& field : spec::FieldTable()) {
    if (field.placing || field.use == spec::Use::kProgram) continue;
    const auto [section, name] = spec::JsonPlaceOf(field);
    known.insert(section.empty() ? name : absl::StrCat(section, ".", name));
    if (!section.empty()) known.insert(absl::StrCat(section, "."));
  }
  for (const auto& [name, value] : spec.items()) {
    if (known.contains(name)) continue;
    if (!known.contains(absl::StrCat(name, "."))) {
      return ConfigError(
          absl::StrCat("'", name, "' is not a section of a specification", kWriteOne));
    }
    if (!value.is_object()) {
      return ConfigError(
          absl::StrCat(name, " is ", value.dump(), "; it must be a section of fields"));
    }
    for (const auto& [field, unused] : value.items()) {
      const std::string path = absl::StrCat(name, ".", field);
      if (!known.contains(path)) {
        return ConfigError(
            absl::StrCat("'", path, "' is not a field of a specification", kWriteOne));
      }
    }
  }
  return absl::OkStatus();
}

// Returns whether the field may be missing: specifications of version 0.2.0 have eval.batches
// instead.
bool MayLack(const Field& field) { return field.path == "eval.tokens"; }

absl::Status CheckFields(const json& spec) {
  if (!spec.is_object()) return ConfigError("the specification is not a JSON object");
  DT_RETURN_IF_ERROR(RefuseUnknown(spec));
  std::vector<std::string> missing;
  for (const Field& field : spec::FieldTable()) {
    if (field.type == FieldType::kLabels || field.placing || field.use == spec::Use::kProgram) {
      continue;
    }
    const json* value = Find(spec, field);
    if (value == nullptr) {
      if (!MayLack(field)) missing.push_back(field.path);
    } else {
      DT_RETURN_IF_ERROR(CheckValue(field, *value));
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return ConfigError(
      absl::StrCat("the specification lacks ", absl::StrJoin(missing, ", "), kWriteOne));
}

// REQUIRES: CheckFields(spec) is ok.
class TrialReader {
 public:
  explicit TrialReader(const json& spec) : spec_(spec) {}
  void operator()(const char* path, int64_t& out) const {
    const json* value = Find(spec_, *spec::FindField(path));
    if (value != nullptr) out = *IntegerOf(*value);  // else MayLack(field)
  }
  void operator()(const char* path, double& out) const { out = At(path).get<double>(); }
  void operator()(const char* path, bool& out) const { out = At(path).get<bool>(); }
  void operator()(const char* path, std::string& out) const { out = At(path).get<std::string>(); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(const char* path, Enum& out) const {
    const Words words = WordsOf(out);
    const auto found = std::find(words.begin(), words.end(), At(path).get<std::string>());
    DT_CHECK(found != words.end());  // CheckFields allows only these words
    out = static_cast<Enum>(found - words.begin());
  }
  const json& At(const char* path) const {
    const Field* field = spec::FindField(path);
    DT_CHECK(field != nullptr);
    return *Find(spec_, *field);
  }

 private:
  const json& spec_;
};

class Writer {
 public:
  explicit Writer(json& fields) : fields_(fields) {}
  // Writes the number as unsigned, as JSON parses it from a file.
  void operator()(const char* path, int64_t value) const {
    At(path) = static_cast<uint64_t>(value);
  }
  void operator()(const char* path, double value) const { At(path) = value; }
  void operator()(const char* path, bool value) const { At(path) = value; }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(const char* path, Enum value) const {
    At(path) = WordsOf(value)[static_cast<size_t>(value)];
  }

 private:
  json& At(std::string_view path) const {
    return fields_[std::string(path.substr(path.find('.') + 1))];
  }
  json& fields_;
};

// Checks the rules over several fields that the checks of an experiment file apply too.
absl::Status CheckCombination(const TrialSpec& trial) {
  const auto word = [](auto value) { return WordsOf(value)[static_cast<size_t>(value)]; };
  const ModelSpec& model = trial.model;
  const spec::Combination fields{.n_layer = model.n_layer,
                                 .n_head = model.n_head,
                                 .n_embd = model.n_embd,
                                 .n_ff = model.n_ff,
                                 .n_positions = model.n_positions,
                                 .vocab_size = model.vocab_size,
                                 .vocab_pad = model.vocab_pad,
                                 .positions = word(model.positions),
                                 .dropout = model.dropout,
                                 .seq_len = trial.train.seq_len,
                                 .tensor = trial.tensor,
                                 .pipeline = trial.pipeline,
                                 .interleave = trial.interleave,
                                 .sequence = trial.sequence,
                                 .schedule = word(trial.pipeline_schedule),
                                 .strategy = word(trial.sharing),
                                 .compression = word(trial.compression),
                                 .balance = word(trial.balance)};
  std::vector<spec::Violation> broken;
  spec::CheckModel(fields, broken);
  spec::CheckTensor(fields, broken);
  spec::CheckPipeline(fields, broken);
  spec::CheckBalance(fields, broken);
  return broken.empty() ? absl::OkStatus() : ConfigError(broken[0].message);
}

absl::Status CheckTraining(const TrialSpec& trial, int64_t batch_tokens) {
  const TrainSpec& train = trial.train;
  if (trial.data.train.empty()) {
    return ConfigError("data.train is empty; give a glob of token shards under the data root");
  }
  if ((train.max_steps > 0) + (train.max_tokens > 0) + (train.epochs > 0) != 1) {
    return ConfigError("one of train.max_steps, train.max_tokens and train.epochs must be above 0");
  }
  if (!trial.data.val.empty() && trial.eval.batches == 0 && trial.eval.tokens == 0) {
    return ConfigError(
        "eval.tokens and eval.batches are 0; one must set how much a validation reads");
  }
  if (batch_tokens != 0 && batch_tokens != train.global_batch_size * train.seq_len) {
    return ConfigError(absl::StrCat(
        "train.global_batch_tokens ", batch_tokens, " is not train.global_batch_size ",
        train.global_batch_size, " × train.seq_len ", train.seq_len, "; write 0, or the product"));
  }
  if (trial.optimizer.scale_lr != LrScaling::kNone && trial.optimizer.scale_lr_from == 0) {
    return ConfigError("optimizer.scale_lr_from is 0; it must be above 0 where lr is scaled");
  }
  return absl::OkStatus();
}

}  // namespace

const char* WordOf(Wire wire) { return WordsOf(wire)[static_cast<size_t>(wire)]; }

absl::StatusOr<TrialSpec> ParseTrialSpec(const json& spec) {
  DT_RETURN_IF_ERROR(CheckFields(spec));
  const TrialReader read(spec);
  TrialSpec trial;
  VisitTrial(trial, read);
  const json& betas = read.At("optimizer.betas");
  trial.optimizer.beta1 = betas[0].get<double>();
  trial.optimizer.beta2 = betas[1].get<double>();
  const json& every = read.At("checkpoint.every");
  trial.checkpoint.every_steps = *IntegerOf(every.value("steps", json(0)));
  trial.checkpoint.every_seconds = every.value("seconds", 0.0);
  trial.checkpoint.first_seconds = every.value("first_seconds", 0.0);
  int64_t batch_tokens = 0;
  read("train.global_batch_tokens", batch_tokens);
  DT_RETURN_IF_ERROR(CheckCombination(trial));
  DT_RETURN_IF_ERROR(CheckTraining(trial, batch_tokens));
  // Sinusoidal positions work for any length.
  trial.model.n_positions = std::max(trial.model.n_positions, trial.train.seq_len);
  return trial;
}

json ModelFields(const ModelSpec& model) {
  json fields = json::object();
  ModelSpec shape = model;
  VisitModel(shape, Writer(fields));
  return fields;
}

}  // namespace dt::trainer
