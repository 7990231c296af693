// snapshot.cc: writes tensors to files and reads them back.
#include "worker/trainer/run/snapshot.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "corpus/fingerprint.h"
#include "worker/trainer/parallel/pieces.h"
#include "worker/trainer/run/training_line.h"

namespace dt::trainer {
namespace {

constexpr char kModelFile[] = "model.safetensors";
constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kOuterFile[] = "outer.safetensors";

// Returns the pieces in the order of a file, in which every rank collects distributed pieces.
std::map<std::string_view, const Piece*> ByName(const std::vector<Piece>& pieces) {
  std::map<std::string_view, const Piece*> by_name;
  for (const Piece& piece : pieces) by_name[piece.name] = &piece;
  return by_name;
}

absl::Status AddFile(checkpoint::CheckpointWriter& writer, const std::string& name,
                     const std::vector<Piece>& pieces, Mesh* mesh, const std::atomic<bool>& leave) {
  const std::map<std::string_view, const Piece*> by_name = ByName(pieces);
  std::vector<checkpoint::TensorRef> refs;
  for (const Piece& piece : pieces) {
    refs.push_back({piece.name, checkpoint::DType::kF32, piece.shape, nullptr});
  }
  at::Tensor whole;  // tensor that is being written
  auto next = by_name.begin();
  return writer.AddTensors(
      name, std::move(refs), [&](const checkpoint::TensorRef& ref) -> absl::StatusOr<const void*> {
        if (leave) return CancelledError("the attempt ended while a checkpoint was written");
        DT_CHECK(next->first == ref.name);
        whole = Collect(mesh, *(next++)->second);
        return whole.const_data_ptr<float>();
      });
}

absl::StatusOr<at::Tensor> ReadWhole(const checkpoint::Checkpoint& checkpoint,
                                     const std::string& name,
                                     const checkpoint::SafetensorsFile& file, const Piece& piece) {
  const checkpoint::TensorEntry* entry = file.Find(piece.name);
  if (entry == nullptr || entry->dtype != checkpoint::DType::kF32 || entry->shape != piece.shape) {
    return DamagedError(checkpoint.folder + "/" + name + " has no fp32 tensor '" + piece.name +
                        "' of the shape that the model has");
  }
  at::Tensor host = at::empty(piece.shape, at::kFloat);
  DT_RETURN_IF_ERROR(file.Read(*entry, host.mutable_data_ptr<float>()));
  return host;
}

absl::Status ReadFile(const checkpoint::Checkpoint& checkpoint, const std::string& name,
                      const std::vector<Piece>& pieces) {
  DT_ASSIGN_OR_RETURN(const checkpoint::SafetensorsFile file, checkpoint.OpenTensors(name));
  for (const Piece& piece : pieces) {
    DT_ASSIGN_OR_RETURN(const at::Tensor whole, ReadWhole(checkpoint, name, file, piece));
    Fill(piece, whole);
  }
  return absl::OkStatus();
}

bool HasFile(const checkpoint::Checkpoint& checkpoint, std::string_view name) {
  const auto& files = checkpoint.manifest.files;
  return std::any_of(files.begin(), files.end(),
                     [name](const auto& file) { return file.name == name; });
}

// Distributes a file's tensors to all ranks. `checkpoint` is set on rank 0.
absl::Status DealFile(const std::optional<checkpoint::Checkpoint>& checkpoint,
                      const std::string& name, Mesh& mesh, const std::vector<Piece>& pieces) {
  std::optional<checkpoint::SafetensorsFile> file;
  if (mesh.IsRoot()) {
    DT_ASSIGN_OR_RETURN(file, checkpoint->OpenTensors(name));
  }
  return Deal(mesh, pieces,
              [&](const Piece& piece) { return ReadWhole(*checkpoint, name, *file, piece); });
}

// Packs the scalars, then for each parameter, in the order of reduction, its number and its bucket.
// The size is constant, so that it can be broadcast.
at::Tensor Packed(const Restored& restored, size_t parameters) {
  constexpr size_t kNumbers = 13;
  // Add one: two pipeline stages may have a tied embedding.
  const auto size = static_cast<int64_t>(kNumbers + 2 * (parameters + 1));
  at::Tensor packed = at::full({size}, -1, at::kLong);
  int64_t* out = packed.mutable_data_ptr<int64_t>();
  *out++ = restored.step;
  *out++ = restored.optimizer_steps;
  *out++ = std::bit_cast<int64_t>(restored.loss_scale.scale);
  *out++ = restored.loss_scale.good_steps;
  *out++ = std::bit_cast<int64_t>(restored.trained_seconds);
  *out++ = restored.validated ? 1 : 0;
  *out++ = restored.read ? 1 : 0;
  *out++ = restored.world_size;
  *out++ = restored.wire ? static_cast<int64_t>(*restored.wire) : -1;
  *out++ = restored.warmup_steps.value_or(-1);
  for (const double number :
       {restored.noise_scale.weight, restored.noise_scale.signal, restored.noise_scale.noise}) {
    *out++ = std::bit_cast<int64_t>(number);
  }
  DT_CHECK(out == packed.const_data_ptr<int64_t>() + kNumbers);
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
  restored.trained_seconds = std::bit_cast<double>(*in++);
  restored.validated = *in++ != 0;
  restored.read = *in++ != 0;
  restored.world_size = static_cast<int32_t>(*in++);
  if (const int64_t wire = *in++; wire >= 0) restored.wire = static_cast<Wire>(wire);
  if (const int64_t warmup = *in++; warmup >= 0) restored.warmup_steps = warmup;
  for (double* number :
       {&restored.noise_scale.weight, &restored.noise_scale.signal, &restored.noise_scale.noise}) {
    *number = std::bit_cast<double>(*in++);
  }
  for (; in < end && *in >= 0; in += 2) {
    if (static_cast<size_t>(in[1]) >= restored.layout.size()) restored.layout.emplace_back();
    restored.layout[in[1]].push_back(static_cast<uint32_t>(in[0]));
  }
  return restored;
}

// Opens the checkpoint that the orders name, or its best replacement; nothing: training starts
// anew.
absl::StatusOr<std::optional<checkpoint::Checkpoint>> Choose(const frames::Start& start,
                                                             const TrainingLine& line) {
  return checkpoint::FindToResume(
      start.resume->path, start.resume->manifest_hash, start.storage,
      {start.experiment, start.trial}, start.attempt, line.AsLineage(),
      [](const checkpoint::CheckpointId& skipped, const absl::Status& error) {
        std::fprintf(stderr, "skipping checkpoint %s: %s\n", skipped.Path().c_str(),
                     std::string(error.message()).c_str());
      });
}

// Checks that the shards of one split are those with which the checkpoint was written.
absl::Status CheckShards(const checkpoint::Checkpoint& checkpoint, const char* field,
                         const std::string& there, const std::string& here) {
  if (there.empty() || here.empty() || there == here || !corpus::AreComparable(there, here)) {
    return absl::OkStatus();
  }
  return DataError(absl::StrCat(
      "the shards of ", field, " differ from those that this trial has trained with: checkpoint ",
      checkpoint.id.Path(),
      " was written with other shards. Restore those and run 'dtctl retry', or ",
      "submit a new experiment for the new shards"));
}

absl::StatusOr<std::optional<checkpoint::Checkpoint>> ChooseOwn(const frames::Start& start,
                                                                const TrainingLine& line,
                                                                const DataMarks& data) {
  if (!start.resume) return std::optional<checkpoint::Checkpoint>();
  DT_ASSIGN_OR_RETURN(std::optional<checkpoint::Checkpoint> chosen, Choose(start, line));
  if (!chosen) return chosen;
  const checkpoint::Manifest& manifest = chosen->manifest;
  if (!line.Owns(manifest)) {
    return ConfigError(absl::StrCat(
        "checkpoint ", chosen->id.Path(),
        " was written for another model, data, batch, optimizer or schedule than this trial has, ",
        "so the trial cannot continue from it; submit a new experiment"));
  }
  DT_RETURN_IF_ERROR(CheckShards(*chosen, "data.train", manifest.train_data, data.train));
  DT_RETURN_IF_ERROR(CheckShards(*chosen, "data.val", manifest.val_data, data.val));
  return chosen;
}

// Returns the warm-up of the plan with which training began, even if its steps were changed since.
std::optional<int64_t> WarmupOf(const checkpoint::Manifest& manifest, const frames::Start& start,
                                const TrainingLine& line) {
  if (manifest.warmup_steps) return manifest.warmup_steps;
  const std::optional<int64_t> steps = line.OldSteps(manifest);
  const nlohmann::json* schedule =
      start.spec.contains("schedule") ? &start.spec["schedule"] : nullptr;
  if (!steps || schedule == nullptr || !schedule->contains("warmup_ratio")) return std::nullopt;
  const auto fixed = schedule->value("warmup_steps", nlohmann::json(-1));
  if (fixed != -1 && fixed != "-1") return std::nullopt;
  return WarmupSteps((*schedule)["warmup_ratio"].get<double>(), *steps);
}

// Returns everything in the checkpoint that is not a tensor.
Restored Described(const checkpoint::Checkpoint& checkpoint, size_t parameters) {
  Restored restored{static_cast<int64_t>(checkpoint.manifest.step),
                    static_cast<int64_t>(checkpoint.manifest.optimizer_steps),
                    checkpoint.id,
                    checkpoint.manifest.buckets,
                    {},
                    {},
                    checkpoint.manifest.trained_seconds,
                    checkpoint.manifest.loss.has_value(),
                    /*read=*/true,
                    checkpoint.manifest.world_size,
                    {},
                    {}};
  for (const Wire wire : {Wire::kFp32, Wire::kBf16}) {
    if (checkpoint.manifest.wire == WordOf(wire)) restored.wire = wire;
  }
  if (const std::vector<double>& noise = checkpoint.manifest.noise_scale; !noise.empty()) {
    restored.noise_scale = {noise[0], noise[1], noise[2]};
  }
  if (checkpoint.manifest.loss_scale > 0) {
    restored.loss_scale = {checkpoint.manifest.loss_scale, checkpoint.manifest.loss_scale_steps};
  }
  size_t listed = 0;
  for (const auto& bucket : restored.layout) listed += bucket.size();
  // A layout for another set of parameters is useless for this one.
  if (listed != parameters && listed != parameters + 1) restored.layout.clear();
  return restored;
}

}  // namespace

uint64_t BytesOf(const Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const std::vector<Piece>* pieces : {&snapshot.model, &snapshot.optimizer, &snapshot.outer}) {
    for (const Piece& piece : *pieces) bytes += piece.value.nbytes();
  }
  return bytes;
}

Snapshot CopyAside(const Snapshot& snapshot) {
  at::NoGradGuard no_grad;
  const auto copied = [](std::vector<Piece> pieces) {
    for (Piece& piece : pieces) {
      // A GPU copies asynchronously only to pinned memory.
      const at::Tensor host = at::empty(
          piece.value.sizes(), at::TensorOptions(at::kFloat).pinned_memory(piece.value.is_cuda()));
      host.copy_(piece.value.detach(), /*non_blocking=*/true);
      piece.value = host;
    }
    return pieces;
  };
  return {copied(snapshot.model), copied(snapshot.optimizer), nullptr, copied(snapshot.outer),
          snapshot.survivor};
}

absl::StatusOr<checkpoint::SavedCheckpoint> SaveSnapshot(const std::string& storage,
                                                         const checkpoint::CheckpointId& id,
                                                         const Snapshot& snapshot,
                                                         checkpoint::Manifest manifest,
                                                         const std::atomic<bool>& leave) {
  DT_ASSIGN_OR_RETURN(checkpoint::CheckpointWriter writer,
                      checkpoint::CheckpointWriter::Begin(storage, id, snapshot.survivor));
  DT_RETURN_IF_ERROR(AddFile(writer, kModelFile, snapshot.model, snapshot.mesh, leave));
  DT_RETURN_IF_ERROR(AddFile(writer, kOptimizerFile, snapshot.optimizer, snapshot.mesh, leave));
  if (!snapshot.outer.empty()) {
    DT_RETURN_IF_ERROR(AddFile(writer, kOuterFile, snapshot.outer, snapshot.mesh, leave));
  }
  return writer.Commit(std::move(manifest));
}

void TakePartInSaving(const Snapshot& snapshot) {
  for (const std::vector<Piece>* pieces : {&snapshot.model, &snapshot.optimizer}) {
    for (const auto& [name, piece] : ByName(*pieces)) {
      if (!piece->IsWhole()) Collect(snapshot.mesh, *piece);
    }
  }
}

absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Mesh& mesh,
                                         const std::vector<Piece>& parameters, AdamW& optimizer,
                                         const std::vector<Piece>& outer, const DataMarks& data) {
  at::NoGradGuard no_grad;
  const bool whole = AreWhole(parameters);
  Restored restored;
  std::optional<checkpoint::Checkpoint> chosen;
  if (mesh.IsRoot()) {
    const TrainingLine line(start);
    DT_ASSIGN_OR_RETURN(chosen, ChooseOwn(start, line, data));
    if (chosen) {
      restored = Described(*chosen, parameters.size());
      restored.warmup_steps = WarmupOf(chosen->manifest, start, line);
    }
    // Read everything before anything is sent: then rank 0's state is complete, whatever happens to
    // the sends.
    if (chosen && whole) {
      DT_RETURN_IF_ERROR(ReadFile(*chosen, kModelFile, parameters));
      DT_RETURN_IF_ERROR(ReadFile(*chosen, kOptimizerFile, optimizer.State()));
      if (!outer.empty() && HasFile(*chosen, kOuterFile)) {
        DT_RETURN_IF_ERROR(ReadFile(*chosen, kOuterFile, outer));
      }
    }
    optimizer.Resume(restored.optimizer_steps);
  }
  if (whole) {
    Distribute(mesh, parameters);
    Distribute(mesh, optimizer.State());
    Distribute(mesh, outer);
  }
  if (mesh.size(Axis::kWorld) > 1) {
    at::Tensor packed = Packed(restored, parameters.size()).to(parameters.at(0).value.device());
    mesh.BroadcastFromFirst(Axis::kWorld, {packed});
    packed = packed.cpu();
    mesh.RequireIntact();
    Restored everywhere = Unpacked(packed);
    everywhere.from = restored.from;
    restored = std::move(everywhere);
  }
  if (!whole && restored.read) {
    DT_RETURN_IF_ERROR(DealFile(chosen, kModelFile, mesh, parameters));
    DT_RETURN_IF_ERROR(DealFile(chosen, kOptimizerFile, mesh, optimizer.State()));
  }
  optimizer.Resume(restored.optimizer_steps);
  return restored;
}

}  // namespace dt::trainer
