// manifest.cc: see manifest.h.
#include "checkpoint/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "common/sha256.h"

namespace dt::checkpoint {
namespace {

using nlohmann::json;

constexpr char kProgramWord[] = "program";

absl::Status MalformedManifest(const std::string& reason) {
  return DamagedError(std::string(kManifestName) + ": " + reason);
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads fields, and remembers the first that is absent or of the wrong type.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  template <typename T>
  T Unsigned(const char* name) {
    const json& value = At(name);
    if (value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max()) {
      return value.get<T>();
    }
    return Wrong<T>(name);
  }
  int64_t Signed(const char* name) {
    const json& value = At(name);
    // An unsigned above the range of int64_t would wrap.
    if (value.is_number_integer() &&
        (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{INT64_MAX})) {
      return value.get<int64_t>();
    }
    return Wrong<int64_t>(name);
  }
  double Positive(const char* name) {
    const json& value = At(name);
    if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
    return Wrong<double>(name);
  }
  std::string Text(const char* name) {
    const json& value = At(name);
    return value.is_string() ? value.get<std::string>() : Wrong<std::string>(name);
  }
  const json& List(const char* name) {
    static const json kEmpty = json::array();
    const json& value = At(name);
    if (value.is_array()) return value;
    Wrong<int>(name);
    return kEmpty;
  }
  const json& At(const char* name) {
    static const json kAbsent;
    const auto found = object_.is_object() ? object_.find(name) : object_.end();
    return found == object_.end() ? kAbsent : *found;
  }
  template <typename T>
  T Wrong(const char* name) {
    if (wrong_.empty()) wrong_ = name;
    return T{};
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const json& object_;
  std::string wrong_;
};

// A bucket's index is the deepest place of a manifest. Writing JSON recurses, so deeper input must
// be refused.
constexpr int kDepthMax = 5;

bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

json BodyOf(const Manifest& manifest) {
  json body = {{"version", kManifestVersion},
               {"step", manifest.step},
               {"optimizer_steps", manifest.optimizer_steps},
               {"seed", manifest.seed},
               {"world_size", manifest.world_size},
               {"threads", manifest.threads},
               {"next_sample", manifest.next_sample},
               {"buckets", manifest.buckets},
               {"spec_hash", manifest.spec_hash},
               {"loss", nullptr},
               {"provenance", manifest.provenance},
               {"files", json::array()}};
  if (manifest.kind == ManifestKind::kProgram) body["kind"] = kProgramWord;
  if (!manifest.model.is_null()) body["model"] = manifest.model;
  if (manifest.loss_scale > 0) {
    body["loss_scale"] = manifest.loss_scale;
    body["loss_scale_steps"] = manifest.loss_scale_steps;
  }
  if (!manifest.wire.empty()) body["wire"] = manifest.wire;
  if (manifest.trained_seconds > 0) body["trained_seconds"] = manifest.trained_seconds;
  if (!manifest.noise_scale.empty()) body["noise_scale"] = manifest.noise_scale;
  if (manifest.loss && std::isfinite(*manifest.loss)) body["loss"] = *manifest.loss;
  if (!manifest.line_hash.empty()) body["line_hash"] = manifest.line_hash;
  if (manifest.warmup_steps) body["warmup_steps"] = *manifest.warmup_steps;
  if (!manifest.train_data.empty()) body["train_data"] = manifest.train_data;
  if (!manifest.val_data.empty()) body["val_data"] = manifest.val_data;
  if (!manifest.metric_name.empty()) {
    const bool known = manifest.metric && std::isfinite(*manifest.metric);
    body["metric"] = {{"name", manifest.metric_name},
                      {"value", known ? json(*manifest.metric) : json()}};
  }
  for (const ManifestFile& file : manifest.files) {
    body["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  return body;
}

std::string TextOf(const json& body) {
  return Dump({{"checkpoint", body}, {"sha256", Sha256Hex(Dump(body))}}) + "\n";
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && !name.starts_with('.') && name != kManifestName;
}

// Returns whether a name leads to a place within the folder, wherever the folder is.
bool IsNameWithin(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos || name == kManifestName) return false;
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    const std::string part = name.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

absl::StatusOr<std::vector<ManifestFile>> FilesOf(const json& list, ManifestKind kind) {
  std::vector<ManifestFile> files;
  std::set<std::string> known;
  for (const json& item : list) {
    Fields fields(item);
    ManifestFile file{fields.Text("name"), fields.Unsigned<uint64_t>("bytes"),
                      fields.Text("sha256")};
    if (!fields.wrong().empty())
      return MalformedManifest("a file has no valid '" + fields.wrong() + "'");
    const bool usable =
        kind == ManifestKind::kProgram ? IsNameWithin(file.name) : IsPlainName(file.name);
    if (!usable || !known.insert(file.name).second) {
      return MalformedManifest("a file has an unusable name");
    }
    files.push_back(std::move(file));
  }
  if (files.empty()) return MalformedManifest("it names no files");
  return files;
}

absl::StatusOr<std::vector<std::vector<uint32_t>>> BucketsOf(const json& list) {
  std::vector<std::vector<uint32_t>> buckets;
  for (const json& bucket : list) {
    if (!bucket.is_array()) return MalformedManifest("a bucket is not a list");
    std::vector<uint32_t> indices;
    for (const json& index : bucket) {
      if (!index.is_number_unsigned() || index.get<uint64_t>() > UINT32_MAX) {
        return MalformedManifest("a bucket holds something other than indices");
      }
      indices.push_back(index.get<uint32_t>());
    }
    buckets.push_back(std::move(indices));
  }
  return buckets;
}

absl::StatusOr<std::vector<double>> NoiseScaleOf(const json& list) {
  std::vector<double> numbers;
  if (list.is_null()) return numbers;  // nothing was measured yet
  const bool three =
      list.is_array() && list.size() == 3 &&
      std::all_of(list.begin(), list.end(), [](const json& value) { return value.is_number(); });
  if (!three) return MalformedManifest("its noise_scale is not three numbers");
  for (const json& value : list) numbers.push_back(value.get<double>());
  return numbers;
}

absl::StatusOr<std::map<std::string, std::string>> ProvenanceOf(const json& object) {
  std::map<std::string, std::string> provenance;
  if (!object.is_object()) return MalformedManifest("it has no provenance");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return MalformedManifest("provenance holds something other than texts");
    provenance[key] = value.get<std::string>();
  }
  return provenance;
}

// Reads an evaluation's metric at this step; absent if only val_loss counts.
absl::Status ReadMetric(const json& object, Manifest& manifest) {
  if (object.is_null()) return absl::OkStatus();
  Fields fields(object);
  manifest.metric_name = fields.Text("name");
  const json& value = fields.At("value");
  if (value.is_number()) manifest.metric = value.get<double>();
  if (!value.is_number() && !value.is_null()) fields.Wrong<int>("value");
  if (fields.wrong().empty()) return absl::OkStatus();
  return MalformedManifest("its metric has no valid '" + fields.wrong() + "'");
}

absl::StatusOr<json> ModelOf(const json& object) {
  if (object.is_null()) return object;  // written before manifests had this field
  const bool flat =
      object.is_object() && std::all_of(object.begin(), object.end(), [](const json& value) {
        return value.is_primitive() && !value.is_null();
      });
  if (!flat) return MalformedManifest("its model is not a list of fields");
  return object;
}

}  // namespace

std::string ManifestText(const Manifest& manifest) { return TextOf(BodyOf(manifest)); }

absl::StatusOr<Manifest> ParseManifest(std::string_view text) {
  if (text.size() > kManifestBytesMax) return MalformedManifest("it is too large");
  if (IsTooDeep(text)) return MalformedManifest("it is nested too deeply");
  const json whole = json::parse(text.begin(), text.end(), nullptr, false);
  if (whole.is_discarded()) return MalformedManifest("it is not JSON");
  const json& body = Fields(whole).At("checkpoint");
  if (TextOf(body) != text) return MalformedManifest("its content does not match its hash");
  Fields fields(body);
  const auto version = fields.Unsigned<int>("version");
  if (version < 1 || version > kManifestVersion) {
    return MalformedManifest("it has version " + std::to_string(version) + "; versions 1 to " +
                             std::to_string(kManifestVersion) + " are read");
  }
  Manifest manifest;
  manifest.step = fields.Unsigned<uint64_t>("step");
  manifest.optimizer_steps =
      version == 1 ? manifest.step : fields.Unsigned<uint64_t>("optimizer_steps");
  if (!fields.At("loss_scale").is_null()) {
    manifest.loss_scale = fields.Positive("loss_scale");
    manifest.loss_scale_steps = fields.Unsigned<uint32_t>("loss_scale_steps");
  }
  if (!fields.At("trained_seconds").is_null()) {
    manifest.trained_seconds = fields.Positive("trained_seconds");
  }
  if (!fields.At("wire").is_null()) manifest.wire = fields.Text("wire");
  manifest.seed = fields.Signed("seed");
  manifest.world_size = fields.Unsigned<int32_t>("world_size");
  manifest.threads = fields.Unsigned<int32_t>("threads");
  manifest.next_sample = fields.Unsigned<uint64_t>("next_sample");
  manifest.spec_hash = fields.Text("spec_hash");
  if (!fields.At("line_hash").is_null()) manifest.line_hash = fields.Text("line_hash");
  if (!fields.At("warmup_steps").is_null()) manifest.warmup_steps = fields.Signed("warmup_steps");
  if (!fields.At("train_data").is_null()) manifest.train_data = fields.Text("train_data");
  if (!fields.At("val_data").is_null()) manifest.val_data = fields.Text("val_data");
  if (const json& loss = fields.At("loss"); loss.is_number()) {
    manifest.loss = loss.get<double>();
  } else if (!loss.is_null()) {
    fields.Wrong<int>("loss");
  }
  const json& buckets = fields.List("buckets");
  const json& files = fields.List("files");
  if (!fields.wrong().empty()) return MalformedManifest("it has no valid '" + fields.wrong() + "'");
  DT_ASSIGN_OR_RETURN(manifest.buckets, BucketsOf(buckets));
  if (const json& kind = fields.At("kind"); !kind.is_null()) {
    if (kind != kProgramWord) return MalformedManifest("this version does not know its kind");
    manifest.kind = ManifestKind::kProgram;
  }
  DT_ASSIGN_OR_RETURN(manifest.files, FilesOf(files, manifest.kind));
  DT_ASSIGN_OR_RETURN(manifest.noise_scale, NoiseScaleOf(fields.At("noise_scale")));
  DT_ASSIGN_OR_RETURN(manifest.model, ModelOf(fields.At("model")));
  DT_RETURN_IF_ERROR(ReadMetric(fields.At("metric"), manifest));
  DT_ASSIGN_OR_RETURN(manifest.provenance, ProvenanceOf(fields.At("provenance")));
  return manifest;
}

}  // namespace dt::checkpoint
