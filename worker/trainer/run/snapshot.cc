// snapshot.cc: tensors to files and back.
#include "worker/trainer/run/snapshot.h"

#include <bit>
#include <cstdio>
#include <map>
#include <string_view>

#include "common/sha256.h"
#include "worker/trainer/parallel/whole.h"

namespace dt::trainer {
namespace {

constexpr char kModelFile[] = "model.safetensors";
constexpr char kOptimizerFile[] = "optimizer.safetensors";

absl::Status AddFile(CheckpointWriter& writer, const std::string& name,
                     const std::vector<Piece>& pieces) {
  std::map<std::string_view, const Piece*> by_name;
  std::vector<TensorRef> refs;
  for (const Piece& piece : pieces) {
    by_name[piece.name] = &piece;
    refs.push_back({piece.name, DType::kF32, piece.shape, nullptr});
  }
  at::Tensor whole;  // the one that is being written
  return writer.AddTensors(name, std::move(refs), [&](const TensorRef& ref) -> const void* {
    whole = Collect(*by_name.at(ref.name));
    return whole.const_data_ptr<float>();
  });
}

absl::Status ReadFile(const Checkpoint& checkpoint, const std::string& name,
                      const std::vector<Piece>& pieces) {
  DT_ASSIGN_OR_RETURN(const SafetensorsFile file, checkpoint.OpenTensors(name));
  for (const Piece& piece : pieces) {
    const TensorEntry* entry = file.Find(piece.name);
    if (entry == nullptr || entry->dtype != DType::kF32 || entry->shape != piece.shape) {
      return DamagedError(checkpoint.folder + "/" + name + " has no fp32 tensor '" + piece.name +
                          "' of the shape that the model has");
    }
    at::Tensor host = at::empty(piece.shape, at::kFloat);
    DT_RETURN_IF_ERROR(file.Read(*entry, host.mutable_data_ptr<float>()));
    Fill(piece, host);
  }
  return absl::OkStatus();
}

// One number for each parameter in the order of reduction, and one that says which bucket it is in;
// before them the numbers. Always the same size, so that it can be broadcast.
at::Tensor Packed(const Restored& restored, size_t parameters) {
  at::Tensor packed = at::full({static_cast<int64_t>(5 + 2 * parameters)}, -1, at::kLong);
  int64_t* out = packed.mutable_data_ptr<int64_t>();
  *out++ = restored.step;
  *out++ = restored.optimizer_steps;
  *out++ = std::bit_cast<int64_t>(restored.loss_scale.scale);
  *out++ = restored.loss_scale.good_steps;
  *out++ = restored.validated ? 1 : 0;
  for (size_t bucket = 0; bucket < restored.layout.size(); ++bucket) {
    for (const uint32_t index : restored.layout[bucket]) {
      *out++ = index;
      *out++ = static_cast<int64_t>(bucket);
    }
  }
  return packed;
}

Restored Unpacked(const at::Tensor& packed) {
  const int64_t* in = packed.const_data_ptr<int64_t>();
  const int64_t* end = in + packed.numel();
  Restored restored;
  restored.step = *in++;
  restored.optimizer_steps = *in++;
  restored.loss_scale.scale = std::bit_cast<double>(*in++);
  restored.loss_scale.good_steps = *in++;
  restored.validated = *in++ != 0;
  for (; in < end && *in >= 0; in += 2) {
    if (static_cast<size_t>(in[1]) >= restored.layout.size()) restored.layout.emplace_back();
    restored.layout[in[1]].push_back(static_cast<uint32_t>(in[0]));
  }
  return restored;
}

// The checkpoint that the orders name. When that is damaged or gone, the newest good one that the
// same attempt wrote after it (nobody may have the rows in between, but the training is not lost);
// then the newest good one before it; nothing when there is none: training begins anew.
absl::StatusOr<std::optional<Checkpoint>> Choose(const frames::Start& start) {
  const std::optional<CheckpointId> id = ParseCheckpointPath(start.resume->path);
  if (!id) {
    return ConfigError("'" + start.resume->path + "' is not the path of a checkpoint");
  }
  absl::StatusOr<Checkpoint> named =
      OpenCheckpoint(start.storage, *id, start.resume->manifest_hash);
  if (named.ok()) return std::optional<Checkpoint>(*std::move(named));
  if (named.status().code() == kIoError) return named.status();
  const auto skip = [](const CheckpointId& skipped, const absl::Status& error) {
    std::fprintf(stderr, "skipping checkpoint %s: %s\n", skipped.Path().c_str(),
                 std::string(error.message()).c_str());
  };
  skip(*id, named.status());
  const auto eligible = [&](const CheckpointId& other) {
    if (other == *id || other.attempt >= start.attempt) return false;
    return other.step <= id->step || other.attempt == id->attempt;
  };
  return FindNewestGood(start.storage, id->trial, SpecHash(start.spec), eligible, skip);
}

absl::StatusOr<Restored> Read(const frames::Start& start, const std::vector<Piece>& parameters,
                              const AdamW& optimizer) {
  if (!start.resume) return Restored{};
  DT_ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen, Choose(start));
  if (!chosen) return Restored{};
  const Checkpoint& checkpoint = *chosen;
  if (checkpoint.manifest.spec_hash != SpecHash(start.spec)) {
    return DamagedError(checkpoint.folder +
                        " was written for another model, data, batch or optimizer");
  }
  DT_RETURN_IF_ERROR(ReadFile(checkpoint, kModelFile, parameters));
  DT_RETURN_IF_ERROR(ReadFile(checkpoint, kOptimizerFile, optimizer.State()));
  Restored restored{static_cast<int64_t>(checkpoint.manifest.step),
                    static_cast<int64_t>(checkpoint.manifest.optimizer_steps),
                    checkpoint.id,
                    checkpoint.manifest.buckets,
                    {},
                    {},
                    checkpoint.manifest.loss.has_value()};
  if (const std::vector<double>& noise = checkpoint.manifest.noise_scale; !noise.empty()) {
    restored.noise_scale = {noise[0], noise[1], noise[2]};
  }
  if (checkpoint.manifest.loss_scale > 0) {
    restored.loss_scale = {checkpoint.manifest.loss_scale, checkpoint.manifest.loss_scale_steps};
  }
  size_t listed = 0;
  for (const auto& bucket : restored.layout) listed += bucket.size();
  // A layout of another set of parameters says nothing about this one.
  if (listed != parameters.size()) restored.layout.clear();
  return restored;
}

}  // namespace

std::string SpecHash(const nlohmann::json& spec) {
  nlohmann::json kept = nlohmann::json::object();
  for (const char* part : {"seed", "data", "model", "train", "optimizer", "schedule"}) {
    if (spec.contains(part)) kept[part] = spec[part];
  }
  // These change no number.
  if (kept.contains("train")) kept["train"].erase("hash_every");
  // The same once more, where the size is there too.
  if (kept.contains("train")) {
    const nlohmann::json size = kept["train"].value("global_batch_size", nlohmann::json(0));
    if (size != 0 && size != "0") kept["train"].erase("global_batch_tokens");
  }
  if (kept.contains("model")) kept["model"].erase("activation_checkpointing");
  // As before there was such a field: checkpoints of then are still good.
  if (kept.contains("model") && kept["model"].is_object() &&
      kept["model"].value("init_from", nlohmann::json()) == "") {
    kept["model"].erase("init_from");
  }
  return Sha256Hex(kept.dump());
}

absl::StatusOr<SavedCheckpoint> SaveSnapshot(const std::string& storage, const CheckpointId& id,
                                             const Snapshot& snapshot, Manifest manifest) {
  DT_ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Begin(storage, id));
  DT_RETURN_IF_ERROR(AddFile(writer, kModelFile, snapshot.model));
  DT_RETURN_IF_ERROR(AddFile(writer, kOptimizerFile, snapshot.optimizer));
  return writer.Commit(std::move(manifest));
}

absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Mesh& mesh,
                                         const std::vector<Piece>& parameters, AdamW& optimizer) {
  at::NoGradGuard no_grad;
  Restored restored;
  if (mesh.IsRoot()) {
    // All of it before anything is sent: rank 0 is whole, whatever becomes of that.
    DT_ASSIGN_OR_RETURN(restored, Read(start, parameters, optimizer));
    optimizer.Resume(restored.optimizer_steps);
  }
  Distribute(mesh, parameters);
  Distribute(mesh, optimizer.State());
  if (mesh.size(Axis::kWorld) > 1) {
    at::Tensor packed =
        Packed(restored, parameters.size()).to(parameters.at(0).value.device());
    mesh.BroadcastFromFirst(Axis::kWorld, {packed});
    packed = packed.cpu();
    mesh.RequireIntact();
    Restored whole = Unpacked(packed);
    whole.from = restored.from;
    whole.noise_scale = restored.noise_scale;
    restored = std::move(whole);
  }
  optimizer.Resume(restored.optimizer_steps);
  return restored;
}

}  // namespace dt::trainer
