// training_line.cc: the current rule and the one before.
#include "worker/trainer/run/training_line.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/sha256.h"
#include "spec/table/field.h"

namespace dt::trainer {
namespace {

using nlohmann::json;

// Limit on the step numbers tried for an old checkpoint; hashing one takes half a microsecond. The
// search goes upward from the checkpoint's step, so this bounds how far the plan may have extended
// beyond it.
constexpr int64_t kOldStepsTried = 1 << 21;

// Stands for the number; no specification contains it.
constexpr char kPlaceholder[] = "\x01steps";

// Returns what both rules include.
json Kept(const frames::Start& start) {
  json kept = json::object();
  for (const char* part : {"seed", "data", "model", "train", "optimizer", "schedule"}) {
    if (start.spec.contains(part)) kept[part] = start.spec[part];
  }
  // These fields change no number.
  for (const char* harmless : {"hash_every", "max_time_seconds"}) {
    if (kept.contains("train")) kept["train"].erase(harmless);
  }
  // Repeats the batch size if that is given too.
  if (kept.contains("train")) {
    const json size = kept["train"].value("global_batch_size", json(0));
    if (size != 0 && size != "0") kept["train"].erase("global_batch_tokens");
  }
  if (kept.contains("model")) kept["model"].erase("activation_checkpointing");
  // Drop the empty field, so that checkpoints from before it existed stay valid.
  if (kept.contains("model") && kept["model"].is_object() &&
      kept["model"].value("init_from", json()) == "") {
    kept["model"].erase("init_from");
  }
  if (!(start.share_every > 0)) return kept;
  for (const spec::Field& field : spec::FieldTable()) {
    const spec::JsonPlace place = spec::JsonPlaceOf(field);
    if (!field.within_run || !kept.contains(place.section)) continue;
    kept[place.section].erase(place.name);
  }
  return kept;
}

int64_t NumberOf(const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = 0;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

// Hashes `kept` with different step numbers; the text before the number is hashed only once.
class StepsHash {
 public:
  explicit StepsHash(json kept) {
    json& steps = kept["train"]["max_steps"];
    const bool as_text = steps.is_string();
    steps = kPlaceholder;
    const std::string text = kept.dump();
    const std::string mark = json(kPlaceholder).dump();
    const size_t at = text.find(mark);
    const char* quote = as_text ? "\"" : "";
    before_.Update(text.substr(0, at) + quote);
    after_ = quote + text.substr(at + mark.size());
  }
  std::string Of(int64_t steps) const {
    Sha256 hash = before_;
    hash.Update(std::to_string(steps) + after_);
    return hash.FinishHex();
  }

 private:
  Sha256 before_;
  std::string after_;
};

}  // namespace

TrainingLine::TrainingLine(const frames::Start& start)
    : old_kept_(Kept(start)),
      found_(std::make_shared<std::map<std::string, std::optional<int64_t>>>()) {
  old_hash_ = Sha256Hex(old_kept_.dump());
  json kept = old_kept_;
  if (kept.contains("train") && kept["train"].is_object()) {
    if (kept["train"].contains("max_steps")) max_steps_ = NumberOf(kept["train"]["max_steps"]);
    // The length of training does not affect the numbers so far.
    for (const char* length : {"max_steps", "max_tokens", "epochs"}) kept["train"].erase(length);
  }
  hash_ = Sha256Hex(kept.dump());
}

bool TrainingLine::Owns(const checkpoint::Manifest& manifest) const {
  if (!manifest.line_hash.empty()) return manifest.line_hash == hash_;
  return manifest.spec_hash == old_hash_ || OldSteps(manifest).has_value();
}

std::optional<int64_t> TrainingLine::OldSteps(const checkpoint::Manifest& manifest) const {
  if (max_steps_ <= 0) return std::nullopt;
  if (manifest.spec_hash == old_hash_) return max_steps_;
  const auto known = found_->find(manifest.spec_hash);
  if (known != found_->end()) return known->second;
  std::optional<int64_t>& found = (*found_)[manifest.spec_hash];
  const StepsHash hash(old_kept_);
  // The number can only have been raised, and no checkpoint is beyond the former number.
  const auto step =
      static_cast<int64_t>(std::min<uint64_t>(manifest.step, static_cast<uint64_t>(max_steps_)));
  const int64_t first = std::max<int64_t>(step, 1);
  const int64_t last = std::min(max_steps_, first + kOldStepsTried);
  for (int64_t steps = first; steps <= last && !found; ++steps) {
    if (hash.Of(steps) == manifest.spec_hash) found = steps;
  }
  return found;
}

checkpoint::Lineage TrainingLine::AsLineage() const {
  return checkpoint::Lineage(
      [line = *this](const checkpoint::Manifest& manifest) { return line.Owns(manifest); });
}

}  // namespace dt::trainer
