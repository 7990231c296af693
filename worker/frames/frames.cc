// frames.cc: converts frames to and from JSON.
#include "worker/frames/frames.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "common/json_depth.h"

namespace nlohmann {
template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& j, const std::optional<T>& value) {
    if (value) {
      j = *value;
    } else {
      j = nullptr;
    }
  }
  static void from_json(const json& j, std::optional<T>& value) {
    if (j.is_null()) {
      value.reset();
    } else {
      value = j.get<T>();
    }
  }
};
}  // namespace nlohmann

namespace dt::frames {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Resume, step, path, manifest_hash)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Start, token, experiment, trial, attempt, rank,
                                                world_size, local_rank, spec, data_root, storage,
                                                data_address, resume, store_address, validate_at,
                                                share_every, code_folder, local_world_size,
                                                node_rank, nodes, node_ranks, local_devices, metric,
                                                metric_goal, submitted_by, experiment_name,
                                                environment, ran_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Connect, token, store_address)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Stop, token, checkpoint, stacks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PeerLost, token)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Rescue, token, rows_after, meet_at)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Holds, token, step, hash, meet_at)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Registered, token, step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Hello, program_version, program_revision,
                                                torch_version, nccl_version, cuda_version,
                                                device_name, gpu_uuid, threads, cores, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Prepared, token, target_steps, train_files,
                                                train_tokens, val_tokens, data_fingerprint,
                                                model_parameters, tokens_per_step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StoreUp, token, address)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Running, token, resumed_step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepDone, token, row)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Progress, token, step, evaluated_parts,
                                                evaluation_parts, share, hint, pauses,
                                                makes_environment)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckpointDone, token, step, path, manifest_hash,
                                                bytes, seconds, loss, best)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckpointRemoved, token, step, path)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(End, token, cause, message, step, hint,
                                                of_experiment)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Environment, token, lock)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Resolved, token, lock, packages)

using nlohmann::json;

// Frames without fields.
static void to_json(json& j, const Exit&) { j = json::object(); }
static void from_json(const json&, Exit&) {}
static void to_json(json& j, const Idle&) { j = json::object(); }
static void from_json(const json&, Idle&) {}

// JSON has no NaN and no infinity: both are written as null. If absent, `number` stays.
static void ReadNumber(const json& j, const char* key, double& number) {
  const auto found = j.find(key);
  if (found == j.end()) return;
  number = found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
}
// The same for a number that may be absent.
static void ReadSaid(const json& j, const char* key, std::optional<double>& number) {
  if (!j.contains(key)) return;
  number = 0;
  ReadNumber(j, key, *number);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(NetworkFigure, op, axis, over, ranks, hosts, bytes,
                                                rounds, seconds, least_seconds, most_seconds)
static void to_json(json& j, const Eval& eval) {
  j = {{"token", eval.token},    {"step", eval.step},     {"split", eval.split},
       {"loss", eval.loss},      {"tokens", eval.tokens}, {"perplexity_mean", eval.perplexity_mean},
       {"seconds", eval.seconds}};
  if (eval.hellaswag_acc) j["hellaswag_acc"] = *eval.hellaswag_acc;
  if (eval.hellaswag_acc_norm) j["hellaswag_acc_norm"] = *eval.hellaswag_acc_norm;
  if (!eval.samples.empty()) j["samples"] = eval.samples;
  if (eval.train_loss) j["train_loss"] = *eval.train_loss;  // null: reported, but not a number
  if (!eval.metrics.empty()) j["metrics"] = eval.metrics;
  if (eval.network) j["network"] = *eval.network;
}
static void from_json(const json& j, Eval& eval) {
  const Eval absent;
  eval.token = j.value("token", absent.token);
  eval.step = j.value("step", absent.step);
  eval.split = j.value("split", absent.split);
  eval.tokens = j.value("tokens", absent.tokens);
  eval.seconds = j.value("seconds", absent.seconds);
  ReadNumber(j, "loss", eval.loss);
  ReadNumber(j, "perplexity_mean", eval.perplexity_mean);
  ReadSaid(j, "hellaswag_acc", eval.hellaswag_acc);
  ReadSaid(j, "hellaswag_acc_norm", eval.hellaswag_acc_norm);
  eval.samples = j.value("samples", absent.samples);
  ReadSaid(j, "train_loss", eval.train_loss);
  if (const auto metrics = j.find("metrics"); metrics != j.end()) {
    for (const auto& [name, value] : metrics->items()) {
      ReadNumber(*metrics, name.c_str(), eval.metrics[name]);
    }
  }
  if (const auto network = j.find("network"); network != j.end()) {
    eval.network = network->get<NetworkFigure>();
  }
}

namespace {

// The `type` word of each frame.
template <typename T>
struct TypeName;
#define DT_FRAME_TYPE(type, word)         \
  template <>                             \
  struct TypeName<type> {                 \
    static constexpr char kWord[] = word; \
  }
DT_FRAME_TYPE(Start, "start");
DT_FRAME_TYPE(Connect, "connect");
DT_FRAME_TYPE(Stop, "stop");
DT_FRAME_TYPE(PeerLost, "peer_lost");
DT_FRAME_TYPE(Rescue, "rescue");
DT_FRAME_TYPE(Holds, "holds");
DT_FRAME_TYPE(Registered, "registered");
DT_FRAME_TYPE(Environment, "environment");
DT_FRAME_TYPE(Exit, "exit");
DT_FRAME_TYPE(Hello, "hello");
DT_FRAME_TYPE(Idle, "idle");
DT_FRAME_TYPE(Prepared, "prepared");
DT_FRAME_TYPE(Resolved, "resolved");
DT_FRAME_TYPE(StoreUp, "store");
DT_FRAME_TYPE(Running, "running");
DT_FRAME_TYPE(StepDone, "step");
DT_FRAME_TYPE(Progress, "progress");
DT_FRAME_TYPE(Eval, "eval");
DT_FRAME_TYPE(CheckpointDone, "checkpoint");
DT_FRAME_TYPE(CheckpointRemoved, "checkpoint_removed");
DT_FRAME_TYPE(End, "end");
#undef DT_FRAME_TYPE

template <typename Variant>
std::string WriteLine(const Variant& frame) {
  return std::visit(
      [](const auto& f) {
        json j = f;
        j["type"] = TypeName<std::decay_t<decltype(f)>>::kWord;
        return j.dump(-1, ' ', false, json::error_handler_t::replace);
      },
      frame);
}

// Returns the first field of `j` with a point or an exponent where a frame `like` this has
// integers: nlohmann casts it, which is undefined beyond their range. "": none.
std::string FindNotWhole(const json& like, const json& j) {
  const auto is_float = [](const json& one) { return one.is_number_float(); };
  for (const auto& [name, value] : j.items()) {
    const auto found = like.find(name);
    if (found == like.end()) continue;
    if (found->is_number_integer() && is_float(value)) return name;
    if (found->is_array() && std::any_of(value.begin(), value.end(), is_float)) return name;
  }
  return "";
}

template <typename Frame>
std::string FindNotWholeOf(const json& j) {
  std::string name = FindNotWhole(json(Frame{}), j);
  const auto look_into = [&](const char* part, const json& like) {
    const auto found = j.find(part);
    if (name.empty() && found != j.end()) name = FindNotWhole(like, *found);
  };
  if constexpr (std::is_same_v<Frame, Start>) look_into("resume", json(Resume{}));
  if constexpr (std::is_same_v<Frame, Eval>) look_into("network", json(NetworkFigure{}));
  return name;
}

// Returns the error; "": the frame is in `out`.
template <typename Variant, size_t I = 0>
std::string ReadAs(const std::string& type, const json& j, Variant& out) {
  if constexpr (I < std::variant_size_v<Variant>) {
    using Frame = std::variant_alternative_t<I, Variant>;
    if (type != TypeName<Frame>::kWord) return ReadAs<Variant, I + 1>(type, j, out);
    const std::string name = FindNotWholeOf<Frame>(j);
    if (!name.empty()) return name + " is not an integer";
    out = j.get<Frame>();
    return "";
  }
  return "unknown frame type '" + type + "'";
}

template <typename Variant>
std::variant<Variant, InvalidFrame> ReadLine(std::string_view line) {
  if (line.size() > kFrameBytes) return InvalidFrame{"frame longer than 1 MiB"};
  if (NestsTooDeep(line)) return InvalidFrame{"frame nested deeper than 64 levels"};
  // nlohmann throws on malformed text and on wrong types; both stop here.
  try {
    const json j = json::parse(line);
    Variant frame;
    const std::string type = j.at("type").get<std::string>();
    std::string wrong = ReadAs(type, j, frame);
    if (!wrong.empty()) return InvalidFrame{std::move(wrong)};
    return frame;
  } catch (const json::exception& error) {
    return InvalidFrame{error.what()};
  }
}

}  // namespace

std::string ToLine(const ToTrainer& frame) { return WriteLine(frame); }
std::string ToLine(const FromTrainer& frame) { return WriteLine(frame); }

std::variant<ToTrainer, InvalidFrame> ParseToTrainer(std::string_view line) {
  return ReadLine<ToTrainer>(line);
}
std::variant<FromTrainer, InvalidFrame> ParseFromTrainer(std::string_view line) {
  return ReadLine<FromTrainer>(line);
}

}  // namespace dt::frames
