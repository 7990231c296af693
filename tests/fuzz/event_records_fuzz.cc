// event_records_fuzz.cc: any bytes as an event file of TensorBoard: values within bounds, in one
// piece as in two. The first byte says whether checksums are made right, so that the messages
// inside are reached.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/crc32c.h"
#include "worker/program/event_records.h"

namespace {

template <typename Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using dt::MaskedCrc32c;
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    const std::string length = Bytes<uint64_t>(file.size());
    file = length + Bytes(MaskedCrc32c(length)) + file + Bytes(MaskedCrc32c(file));
  }
  const auto read = dt::program::ReadEventRecords(file);
  if (data[0] % 2 == 1 && (!read.damage.empty() || read.used < file.size())) std::abort();
  if (read.scalars.size() > file.size()) std::abort();
  for (const auto& scalar : read.scalars) {
    if (scalar.tag.empty() || scalar.tag.size() > 512) std::abort();
  }
  const size_t used = std::min<uint64_t>(read.used, file.size());
  const auto again = dt::program::ReadEventRecords(std::string_view(file).substr(0, used));
  if (again.scalars.size() != read.scalars.size() || !again.damage.empty()) std::abort();
  return 0;
}
