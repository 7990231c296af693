// convert.cc: converts field by field.
#include "worker/agent/convert.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "common/check.h"
#include "common/collectives.h"
#include "common/limits.h"
#include "common/network_bench.h"
#include "common/text.h"
#include "worker/agent/agent_state.h"

namespace dt {

nlohmann::json SpecToJson(const v1::Spec& spec) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(spec, &text, options);
  DT_CHECK(status.ok());
  nlohmann::json json = nlohmann::json::parse(text);
  // Fields that only place a gang are not part of a trainer's specification.
  if (json.contains("resources")) {
    for (const char* placing : {"min_gpus", "max_gpus", "single_node", "accelerator", "labels",
                                "priority", "max_gpus_total"}) {
      json["resources"].erase(placing);
    }
  }
  if (KindOf(spec) == TrainerKind::kOwn) {
    for (const char* of_programs : {"command", "run", "workdir", "code", "code_include", "steps",
                                    "values", "launcher", "timeout", "metrics", "environment"}) {
      if (IsNetworkBench(spec.command()) && of_programs == std::string_view("command")) continue;
      json.erase(of_programs);
    }
    if (json.contains("checkpoint")) json["checkpoint"].erase("folder");
  }
  // The trainer has it as a single field, as in spec::JsonPlaceOf.
  if (json.contains("stop")) {
    json["stop"].erase("median");
    json["stop"]["median_after"] = spec.stop().median().after();
  }
  return json;
}

namespace {

// Drops the digits after the point; returns nothing for a number beyond its type.
template <typename Number>
std::optional<Number> WholeOf(const nlohmann::json& value) {
  if (!value.is_number_float()) return value.get<Number>();
  const double number = value.get<double>();
  const double bound = std::ldexp(1.0, std::numeric_limits<Number>::digits);
  if (number < bound && number >= (std::is_signed_v<Number> ? -bound : 0.0)) {
    return static_cast<Number>(number);
  }
  return std::nullopt;
}

void SetNumber(v1::StepRow& row, const google::protobuf::FieldDescriptor* field,
               const nlohmann::json& value) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* reflection = row.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    const double number =
        value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    reflection->SetDouble(&row, field, number);
  } else if (value.is_number()) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT64:
        if (const auto n = WholeOf<uint64_t>(value)) reflection->SetUInt64(&row, field, *n);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        if (const auto n = WholeOf<int64_t>(value)) reflection->SetInt64(&row, field, *n);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        if (const auto n = WholeOf<int32_t>(value)) reflection->SetInt32(&row, field, *n);
        break;
      default:  // protobuf's enum; StepRow has no other types
        break;
    }
  }
}

// Skips a collective with an unknown word, as sums do.
void AddCollectives(const nlohmann::json& collectives, v1::StepRow& row) {
  for (const nlohmann::json& each : collectives) {
    if (!each.is_object() || row.collectives_size() >= limits::kCollectivesPerRow) continue;
    const auto word = [&each](const char* name) {
      const auto found = each.find(name);
      return found != each.end() && found->is_string() ? found->get<std::string>() : "";
    };
    const std::string op = word("op"), axis = word("axis");
    if (!IsCollectiveOp(op) || !IsTimedAxis(axis)) continue;
    v1::Collective& collective = *row.add_collectives();
    collective.set_op(op);
    collective.set_axis(axis);
    const auto number = [&each](const char* name) {
      const auto found = each.find(name);
      return found != each.end() && found->is_number() ? found->get<double>() : 0.0;
    };
    collective.set_ranks(static_cast<uint32_t>(std::clamp(number("ranks"), 1.0, 1e6)));
    collective.set_seconds(number("seconds"));
    collective.set_exposed_seconds(number("exposed_seconds"));
    collective.set_bytes(number("bytes"));
    collective.set_count(number("count"));
  }
}

}  // namespace

v1::StepRow RowFromJson(const nlohmann::json& row) {
  v1::StepRow message;
  if (!row.is_object()) return message;
  const google::protobuf::Descriptor* descriptor = v1::StepRow::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = descriptor->field(i);
    const auto found = row.find(field->name());
    if (found == row.end() || (!found->is_number() && !found->is_null())) continue;
    SetNumber(message, field, *found);
  }
  const auto collectives = row.find("collectives");
  if (collectives != row.end()) AddCollectives(*collectives, message);
  return message;
}

v1::Prepared ToMessage(const frames::Prepared& frame, const frames::Hello& trainer,
                       std::string_view host) {
  v1::Prepared message;
  message.set_target_steps(frame.target_steps);
  message.set_train_files(frame.train_files);
  message.set_train_tokens(frame.train_tokens);
  message.set_val_tokens(frame.val_tokens);
  message.set_data_fingerprint(CleanText(frame.data_fingerprint, limits::kNameBytes));
  message.set_model_parameters(frame.model_parameters);
  message.set_tokens_per_step(frame.tokens_per_step);
  v1::Provenance& provenance = *message.mutable_provenance();
  provenance.set_program_version(CleanText(trainer.program_version, limits::kNameBytes));
  provenance.set_program_revision(CleanText(trainer.program_revision, limits::kNameBytes));
  provenance.set_torch_version(CleanText(trainer.torch_version, limits::kNameBytes));
  provenance.set_nccl_version(CleanText(trainer.nccl_version, limits::kNameBytes));
  provenance.set_cuda_version(CleanText(trainer.cuda_version, limits::kNameBytes));
  provenance.set_device_name(CleanText(trainer.device_name, limits::kNameBytes));
  provenance.set_host(std::string(host));
  provenance.set_threads(trainer.threads);
  provenance.set_cores(CleanText(trainer.cores, limits::kNameBytes));
  return message;
}

v1::CheckpointRef ToMessage(const frames::CheckpointDone& frame, std::string_view storage_id) {
  v1::CheckpointRef message;
  message.set_step(frame.step);
  message.set_storage_id(std::string(storage_id));
  message.set_path(CleanText(frame.path, limits::kTextBytes));
  message.set_manifest_hash(CleanText(frame.manifest_hash, limits::kNameBytes));
  message.set_bytes(frame.bytes);
  message.set_seconds(frame.seconds);
  message.set_loss(frame.loss.value_or(std::numeric_limits<double>::quiet_NaN()));
  message.set_best(frame.best);
  return message;
}

namespace {

v1::NetworkFigure ToMessage(const frames::NetworkFigure& frame) {
  v1::NetworkFigure message;
  message.set_op(CleanText(frame.op, limits::kNameBytes));
  message.set_axis(CleanText(frame.axis, limits::kNameBytes));
  message.set_over(CleanText(frame.over, limits::kNameBytes));
  message.set_ranks(frame.ranks);
  message.set_hosts(frame.hosts);
  message.set_bytes(frame.bytes);
  message.set_rounds(frame.rounds);
  message.set_seconds(frame.seconds);
  message.set_least_seconds(frame.least_seconds);
  message.set_most_seconds(frame.most_seconds);
  return message;
}

}  // namespace

v1::Evaluation ToMessage(const frames::Eval& frame) {
  v1::Evaluation message;
  message.set_step(frame.step);
  message.set_split(CleanText(frame.split, limits::kNameBytes));
  message.set_loss(frame.loss);
  message.set_perplexity_mean(frame.perplexity_mean);
  message.set_tokens(frame.tokens);
  message.set_seconds(frame.seconds);
  if (frame.hellaswag_acc) message.set_hellaswag_acc(*frame.hellaswag_acc);
  if (frame.hellaswag_acc_norm) message.set_hellaswag_acc_norm(*frame.hellaswag_acc_norm);
  if (frame.train_loss) message.set_train_loss(*frame.train_loss);
  for (const auto& [name, value] : frame.metrics) {
    if (message.metrics_size() == static_cast<int>(limits::kMetrics)) break;
    v1::Metric& metric = *message.add_metrics();
    metric.set_name(CleanText(name, limits::kMetricNameBytes));
    metric.set_value(value);
  }
  for (const std::string& sample : frame.samples) {
    if (message.samples_size() == static_cast<int>(limits::kSamples)) break;
    message.add_samples(CleanText(sample, limits::kSampleBytes));
  }
  if (frame.network) *message.mutable_network() = ToMessage(*frame.network);
  return message;
}

v1::Cause CauseFromWord(std::string_view word) {
  const std::string name = absl::AsciiStrToUpper("CAUSE_" + std::string(word));
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  const bool known = v1::Cause_Parse(name, &cause) && cause != v1::CAUSE_UNSPECIFIED;
  return known ? cause : v1::CAUSE_TRAINER_CRASH;
}

}  // namespace dt
