// safetensors.cc: files around the header: writes with a hash on the way, reads single tensors.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/check.h"

namespace dt::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

// Bytes hashed, then written while still in the processor's cache.
constexpr size_t kPieceBytes = 1 << 20;

uint64_t BytesOf(const TensorRef& tensor) {
  uint64_t bytes = DTypeBytes(tensor.dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

// Returns length and JSON, padded so that the data begins at a multiple of 8.
std::string HeaderOf(const std::vector<TensorRef>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const TensorRef& tensor : tensors) {
    const uint64_t bytes = BytesOf(tensor);
    header[tensor.name] = {{"dtype", DTypeName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  DT_CHECK(header.size() == tensors.size() + 1);  // distinct names
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string prefix(sizeof length, '\0');
  std::memcpy(prefix.data(), &length, sizeof length);
  return prefix + text;
}

}  // namespace

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path,
                                                            std::vector<TensorRef>& tensors) {
  // The reference's order: large elements first, so that every tensor is aligned.
  std::sort(tensors.begin(), tensors.end(), [](const TensorRef& a, const TensorRef& b) {
    return std::tuple(DTypeBytes(b.dtype), std::string_view(a.name)) <
           std::tuple(DTypeBytes(a.dtype), std::string_view(b.name));
  });
  SafetensorsWriter writer;
  DT_ASSIGN_OR_RETURN(writer.file_, OutputFile::Create(path));
  const std::string header = HeaderOf(tensors);
  writer.missing_ = header.size();
  for (const TensorRef& tensor : tensors) writer.missing_ += BytesOf(tensor);
  DT_RETURN_IF_ERROR(writer.Append(header.data(), header.size()));
  return writer;
}

absl::Status SafetensorsWriter::Append(const void* data, uint64_t bytes) {
  DT_CHECK(bytes <= missing_);
  missing_ -= bytes;
  for (const auto* next = static_cast<const char*>(data); bytes > 0;) {
    const size_t piece = std::min<uint64_t>(bytes, kPieceBytes);
    hash_.Update(next, piece);
    DT_RETURN_IF_ERROR(file_.Append(next, piece));
    next += piece;
    bytes -= piece;
  }
  return absl::OkStatus();
}

absl::StatusOr<WrittenFile> SafetensorsWriter::Finish() {
  DT_CHECK(missing_ == 0);
  DT_RETURN_IF_ERROR(file_.SyncAndClose());
  return WrittenFile{file_.bytes(), hash_.FinishHex()};
}

absl::StatusOr<WrittenFile> WriteSafetensors(const std::string& path,
                                             std::vector<TensorRef> tensors) {
  return WriteSafetensors(path, std::move(tensors),
                          [](const TensorRef& tensor) { return tensor.data; });
}

absl::StatusOr<WrittenFile> WriteSafetensors(const std::string& path,
                                             std::vector<TensorRef> tensors,
                                             const TensorSource& source) {
  DT_ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::Create(path, tensors));
  for (const TensorRef& tensor : tensors) {
    DT_ASSIGN_OR_RETURN(const void* const data, source(tensor));
    DT_RETURN_IF_ERROR(writer.Append(data, BytesOf(tensor)));
  }
  return writer.Finish();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  DT_ASSIGN_OR_RETURN(file.file_, InputFile::Open(path));
  const uint64_t bytes = file.file_.bytes();
  uint64_t length = 0;
  if (bytes < sizeof length) {
    return DamagedError("'" + path + "' has " + std::to_string(bytes) +
                        " bytes; a safetensors file has 8 and more");
  }
  DT_RETURN_IF_ERROR(file.file_.ReadAt(0, &length, sizeof length));
  if (length > kSafetensorsHeaderBytesMax || length > bytes - sizeof length) {
    return DamagedError("'" + path + "' says that its header has " + std::to_string(length) +
                        " bytes; the file has " + std::to_string(bytes) + " and at most " +
                        std::to_string(kSafetensorsHeaderBytesMax) + " are read");
  }
  std::string header(length, '\0');
  DT_RETURN_IF_ERROR(file.file_.ReadAt(sizeof length, header.data(), header.size()));
  file.data_offset_ = sizeof length + length;
  absl::StatusOr<SafetensorsHeader> parsed =
      ParseSafetensorsHeader(header, bytes - file.data_offset_);
  if (!parsed.ok()) return Annotate(parsed.status(), "'" + path + "'");
  file.header_ = *std::move(parsed);
  return file;
}

const TensorEntry* SafetensorsFile::Find(std::string_view name) const {
  const auto found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                  [&](const TensorEntry& entry) { return entry.name == name; });
  return found == header_.tensors.end() ? nullptr : &*found;
}

absl::Status SafetensorsFile::Read(const TensorEntry& entry, void* into) const {
  return ReadPart(entry, 0, into, entry.bytes());
}

absl::Status SafetensorsFile::ReadPart(const TensorEntry& entry, uint64_t offset, void* into,
                                       uint64_t bytes) const {
  DT_CHECK(offset <= entry.bytes() && bytes <= entry.bytes() - offset);
  return file_.ReadAt(data_offset_ + entry.begin + offset, into, bytes);
}

}  // namespace dt::checkpoint
