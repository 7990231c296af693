// pack_fuzz.cc: any bytes as packed code: refused, or files that pack to the same bytes and stay
// inside their folder.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/pack/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = dt::pack::Read(bytes);
  if (!read.ok()) return 0;
  std::vector<dt::pack::File> files;
  for (const dt::pack::FileView& file : *read) {
    if (!dt::pack::CheckPath(file.path).ok()) std::abort();
    files.push_back({std::string(file.path), file.kind, std::string(file.content)});
  }
  const auto again = dt::pack::Pack(files);
  if (!again.ok() || *again != bytes) std::abort();
  return 0;
}
