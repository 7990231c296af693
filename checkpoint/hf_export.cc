// hf_export.cc: verifies, then copies tensor by tensor, and transposes where their layout differs.
#include "checkpoint/hf_export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/hf_gpt2.h"
#include "common/files.h"

namespace dt::checkpoint {
namespace {

constexpr char kModelFile[] = "model.safetensors";
// Bytes of a tensor that are in memory at once; a projection is transposed in two such pieces.
constexpr uint64_t kConvertedBytes = 16 << 20;
constexpr uint64_t kElement = sizeof(float);

struct Source {
  const SafetensorsFile& file;
  const TensorEntry& entry;
  const Gpt2Tensor& tensor;
};

// Copies the rows that their tensor has, unchanged.
absl::Status CopyRows(const Source& source, SafetensorsWriter& writer) {
  uint64_t bytes = kElement;
  for (const int64_t extent : source.tensor.their_shape) bytes *= static_cast<uint64_t>(extent);
  std::vector<char> piece(std::min(bytes, kConvertedBytes));
  for (uint64_t offset = 0; offset < bytes; offset += piece.size()) {
    const uint64_t count = std::min<uint64_t>(piece.size(), bytes - offset);
    DT_RETURN_IF_ERROR(source.file.ReadPart(source.entry, offset, piece.data(), count));
    DT_RETURN_IF_ERROR(writer.Append(piece.data(), count));
  }
  return absl::OkStatus();
}

// Our tensor is [out, in]: reads some columns of all rows, and writes them as full rows of theirs.
absl::Status CopyTransposed(const Source& source, SafetensorsWriter& writer) {
  const auto out = static_cast<uint64_t>(source.tensor.our_shape[0]);
  const auto in = static_cast<uint64_t>(source.tensor.our_shape[1]);
  const uint64_t columns = std::clamp<uint64_t>(kConvertedBytes / kElement / out, 1, in);
  std::vector<float> read(columns);
  std::vector<float> turned(columns * out);
  for (uint64_t first = 0; first < in; first += columns) {
    const uint64_t count = std::min(columns, in - first);
    for (uint64_t row = 0; row < out; ++row) {
      DT_RETURN_IF_ERROR(source.file.ReadPart(source.entry, (row * in + first) * kElement,
                                              read.data(), count * kElement));
      for (uint64_t c = 0; c < count; ++c) turned[c * out + row] = read[c];
    }
    DT_RETURN_IF_ERROR(writer.Append(turned.data(), count * out * kElement));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorRef>> Checked(const SafetensorsFile& file,
                                               const std::map<std::string, Gpt2Tensor>& tensors) {
  std::vector<TensorRef> refs;
  for (const auto& [name, tensor] : tensors) {
    const TensorEntry* entry = file.Find(tensor.ours);
    if (entry == nullptr || entry->dtype != DType::kF32 || entry->shape != tensor.our_shape) {
      return DamagedError(std::string(kModelFile) + " has no fp32 tensor '" + tensor.ours +
                          "' of the shape that its manifest says");
    }
    refs.push_back({name, DType::kF32, tensor.their_shape, nullptr});
  }
  if (file.tensors().size() != tensors.size()) {
    return DamagedError(std::string(kModelFile) + " has " + std::to_string(file.tensors().size()) +
                        " tensors; " + std::to_string(tensors.size()) +
                        " belong to the model of its manifest");
  }
  return refs;
}

absl::StatusOr<HfExport> WriteFolder(const Checkpoint& checkpoint, const Gpt2Shape& shape,
                                     const std::string& folder, const std::function<bool()>& stop) {
  DT_ASSIGN_OR_RETURN(const SafetensorsFile file, checkpoint.OpenTensors(kModelFile));
  std::map<std::string, Gpt2Tensor> tensors;  // by the name in their files
  for (Gpt2Tensor& tensor : Gpt2Tensors(shape)) {
    std::string name = tensor.theirs;
    tensors.emplace(std::move(name), std::move(tensor));
  }
  DT_ASSIGN_OR_RETURN(std::vector<TensorRef> refs, Checked(file, tensors));
  DT_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                      SafetensorsWriter::Create(folder + "/" + kModelFile, refs));
  HfExport done{checkpoint.manifest.step, checkpoint.manifest.loss, 0, 0};
  for (const TensorRef& ref : refs) {
    if (stop && stop()) return CancelledError("stopped; nothing was written");
    const Gpt2Tensor& tensor = tensors.at(ref.name);
    const Source source{file, *file.Find(tensor.ours), tensor};
    DT_RETURN_IF_ERROR(tensor.transposed ? CopyTransposed(source, writer)
                                         : CopyRows(source, writer));
    uint64_t count = 1;
    for (const int64_t extent : tensor.their_shape) count *= static_cast<uint64_t>(extent);
    done.parameters += count;
  }
  DT_ASSIGN_OR_RETURN(const WrittenFile weights, writer.Finish());
  const std::string config = Gpt2Config(shape);
  DT_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(folder + "/config.json"));
  DT_RETURN_IF_ERROR(out.Append(config.data(), config.size()));
  DT_RETURN_IF_ERROR(out.SyncAndClose());
  DT_RETURN_IF_ERROR(SyncFolder(folder));
  done.bytes = weights.bytes + config.size();
  return done;
}

}  // namespace

absl::StatusOr<HfExport> ExportHuggingFace(const HfExportOptions& options) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path target = fs::absolute(options.output, code).lexically_normal();
  // Drops a slash at the end: "out/" is "out".
  const fs::path folder = target.has_filename() ? target : target.parent_path();
  if (fs::exists(fs::symlink_status(folder, code))) {
    return ConfigError("'" + folder.string() +
                       "' is there already; remove it, or name another folder");
  }
  DT_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                      OpenCheckpointFile(options.checkpoint, kModelFile, options.manifest_hash));
  absl::StatusOr<Gpt2Shape> shape = Gpt2ShapeOf(checkpoint.manifest.model);
  if (!shape.ok()) return Annotate(shape.status(), "'" + options.checkpoint + "'");

  const std::string temporary =
      (folder.parent_path() / (".tmp-export-" + folder.filename().string())).string();
  DT_RETURN_IF_ERROR(MakeFolders(folder.parent_path().string()));
  DT_RETURN_IF_ERROR(RemoveAll(temporary));
  DT_RETURN_IF_ERROR(MakeFolders(temporary));
  absl::StatusOr<HfExport> done = WriteFolder(checkpoint, *shape, temporary, options.stop);
  if (done.ok()) {
    absl::Status renamed = Rename(temporary, folder.string());
    if (!renamed.ok()) done = renamed;
  }
  if (!done.ok()) {
    static_cast<void>(RemoveAll(temporary));  // report only the first error
    return done;
  }
  DT_RETURN_IF_ERROR(SyncFolder(folder.parent_path().string()));
  return done;
}

}  // namespace dt::checkpoint
