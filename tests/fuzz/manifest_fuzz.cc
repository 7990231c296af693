// manifest_fuzz.cc: any bytes as a manifest: refused, or the one text for its contents.
//
// A random text never has the right hash, so each input is also tried as a manifest's body.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"
#include "common/sha256.h"

namespace {

void Check(std::string_view text) {
  const auto manifest = dt::checkpoint::ParseManifest(text);
  if (!manifest.ok()) return;
  for (const dt::checkpoint::ManifestFile& file : manifest->files) {
    if (file.name.find('/') != std::string::npos || file.name == "..") std::abort();
  }
  if (!dt::checkpoint::ParseManifest(dt::checkpoint::ManifestText(*manifest)).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check(text);
  const nlohmann::json body = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (body.is_discarded() || size > 4096) return 0;  // writing deep JSON recurses
  const auto dump = [](const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  Check(dump({{"checkpoint", body}, {"sha256", dt::Sha256Hex(dump(body))}}) + "\n");
  return 0;
}
