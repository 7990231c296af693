// safetensors.h: tensors in a file format that cannot execute code:
// https://github.com/huggingface/safetensors
//
// Role:    8 bytes of header length, a JSON header, then the tensors back to back, little-endian
//          and row-major. Knows host memory, not LibTorch.
// Threads: a SafetensorsFile may be read from several threads.
// Errors:  DamagedError for a file that does not match the format exactly; every number in it is
//          checked before use. DataError when the file is absent.
// Tests:   tests/checkpoint/checkpoint_test.cc, tests/fuzz/safetensors_fuzz.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/files.h"
#include "common/sha256.h"
#include "common/status.h"

namespace dt::checkpoint {

// The reference allows 100 MB; 64 Ki tensors fit into this.
inline constexpr uint64_t kSafetensorsHeaderBytesMax = 8 << 20;
inline constexpr size_t kTensorDimsMax = 16;

enum class DType { kF64, kI64, kU64, kF32, kI32, kU32, kF16, kBF16, kI16, kU16, kI8, kU8, kBool };

size_t DTypeBytes(DType dtype);
const char* DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

// A tensor to be written: contiguous host memory, borrowed for the call.
struct TensorRef {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: one element
  const void* data = nullptr;
};
// A tensor of a file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // within the data that follows the header
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
};
struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // by offset
  std::map<std::string, std::string> metadata;
};

// Reads the JSON header of a file with `data_bytes` of data. Accepts it only if the tensors cover
// the data exactly: no gap, no overlap, sizes that match dtype and shape, no name twice.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view header,
                                                         uint64_t data_bytes);

struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256;
};
// Writes and syncs a complete file; the hash covers its content. The metadata has {"format": "pt"},
// without which some readers refuse it. REQUIRES: distinct names.
absl::StatusOr<WrittenFile> WriteSafetensors(const std::string& path,
                                             std::vector<TensorRef> tensors);
// Returns a tensor's data, which stays valid until the next call.
using TensorSource = std::function<absl::StatusOr<const void*>(const TensorRef&)>;
// The same, without the tensors' data pointers: asks `source` for each, in the order of the file.
absl::StatusOr<WrittenFile> WriteSafetensors(const std::string& path,
                                             std::vector<TensorRef> tensors,
                                             const TensorSource& source);

// The same for tensors that are not all in memory at once.
class SafetensorsWriter {
 public:
  // Sorts `tensors` into the order of the file, in which their data must be appended, and writes
  // the header. Does not use their data pointers.
  static absl::StatusOr<SafetensorsWriter> Create(const std::string& path,
                                                  std::vector<TensorRef>& tensors);
  // Appends the next bytes of the data, of any length.
  absl::Status Append(const void* data, uint64_t bytes);
  // REQUIRES: exactly the bytes of all tensors were appended.
  absl::StatusOr<WrittenFile> Finish();

 private:
  OutputFile file_;
  Sha256 hash_;
  uint64_t missing_ = 0;  // bytes still to come
};

class SafetensorsFile {
 public:
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::vector<TensorEntry>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // Returns nullptr if there is none.
  const TensorEntry* Find(std::string_view name) const;
  // Reads a tensor into `into`, which has entry.bytes() bytes. REQUIRES: an entry of this file.
  absl::Status Read(const TensorEntry& entry, void* into) const;
  // Reads a part of it. REQUIRES: offset + bytes is at most entry.bytes().
  absl::Status ReadPart(const TensorEntry& entry, uint64_t offset, void* into,
                        uint64_t bytes) const;

 private:
  InputFile file_;
  SafetensorsHeader header_;
  uint64_t data_offset_ = 0;
};

}  // namespace dt::checkpoint
