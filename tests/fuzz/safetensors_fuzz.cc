// safetensors_fuzz.cc: any bytes as a safetensors header: refused, or tensors that cover the data
// exactly.
//
// The first two bytes give the size of the data, the rest is the header.
#include <cstdlib>
#include <string_view>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t data_bytes = data[0] | static_cast<uint64_t>(data[1]) << 8;
  const std::string_view header(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto parsed = dt::checkpoint::ParseSafetensorsHeader(header, data_bytes);
  if (!parsed.ok()) return 0;
  uint64_t covered = 0;
  for (const dt::checkpoint::TensorEntry& entry : parsed->tensors) {
    uint64_t bytes = dt::checkpoint::DTypeBytes(entry.dtype);
    for (const int64_t extent : entry.shape) bytes *= static_cast<uint64_t>(extent);
    if (entry.begin != covered || entry.bytes() != bytes) std::abort();
    covered = entry.end;
  }
  if (covered != data_bytes) std::abort();
  return 0;
}
