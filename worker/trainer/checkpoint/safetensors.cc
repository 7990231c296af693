// safetensors.cc: files around the header: writing with a hash on the way, reading one tensor.
#include "worker/trainer/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/sha256.h"

namespace dt::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

// Hashed and then written while still in the processor's cache.
constexpr size_t kPieceBytes = 1 << 20;

uint64_t BytesOf(const TensorRef& tensor) {
  uint64_t bytes = DTypeBytes(tensor.dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

// Length and JSON, padded so that the data begins at a multiple of 8.
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

Result<WrittenFile> WriteSafetensors(const std::string& path, std::vector<TensorRef> tensors) {
  // The order of the reference: large elements first, so that every tensor is aligned.
  std::sort(tensors.begin(), tensors.end(), [](const TensorRef& a, const TensorRef& b) {
    return std::tuple(DTypeBytes(b.dtype), std::string_view(a.name)) <
           std::tuple(DTypeBytes(a.dtype), std::string_view(b.name));
  });
  DT_TRY_ASSIGN(OutputFile file, OutputFile::Create(path));
  Sha256 hash;
  const std::string header = HeaderOf(tensors);
  hash.Update(header);
  DT_TRY(file.Append(header.data(), header.size()));
  for (const TensorRef& tensor : tensors) {
    const auto* data = static_cast<const char*>(tensor.data);
    for (uint64_t left = BytesOf(tensor); left > 0;) {
      const size_t piece = std::min<uint64_t>(left, kPieceBytes);
      hash.Update(data, piece);
      DT_TRY(file.Append(data, piece));
      data += piece;
      left -= piece;
    }
  }
  DT_TRY(file.SyncAndClose());
  return WrittenFile{file.bytes(), hash.FinishHex()};
}

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  DT_TRY_ASSIGN(file.file_, InputFile::Open(path));
  const uint64_t bytes = file.file_.bytes();
  uint64_t length = 0;
  if (bytes < sizeof length) {
    return Error{ErrorKind::kDamaged, "'" + path + "' has " + std::to_string(bytes) +
                                          " bytes; a safetensors file has 8 and more"};
  }
  DT_TRY(file.file_.ReadAt(0, &length, sizeof length));
  if (length > kSafetensorsHeaderBytesMax || length > bytes - sizeof length) {
    return Error{ErrorKind::kDamaged, "'" + path + "' says that its header has " +
                                          std::to_string(length) + " bytes; the file has " +
                                          std::to_string(bytes) + " and at most " +
                                          std::to_string(kSafetensorsHeaderBytesMax) + " are read"};
  }
  std::string header(length, '\0');
  DT_TRY(file.file_.ReadAt(sizeof length, header.data(), header.size()));
  file.data_offset_ = sizeof length + length;
  Result<SafetensorsHeader> parsed = ParseSafetensorsHeader(header, bytes - file.data_offset_);
  if (!parsed.ok()) return std::move(parsed).error().Within("'" + path + "'");
  file.header_ = *std::move(parsed);
  return file;
}

const TensorEntry* SafetensorsFile::Find(std::string_view name) const {
  const auto found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                  [&](const TensorEntry& entry) { return entry.name == name; });
  return found == header_.tensors.end() ? nullptr : &*found;
}

Result<void> SafetensorsFile::Read(const TensorEntry& entry, void* into) const {
  return file_.ReadAt(data_offset_ + entry.begin, into, entry.bytes());
}

}  // namespace dt::trainer
