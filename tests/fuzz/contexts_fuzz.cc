// contexts_fuzz.cc: any bytes as dtctl's file of contexts, or as that of an older release: refused,
// or printed and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/remote/contexts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& contexts : {dt::cli::ParseContexts(text, "contexts.json"),
                               dt::cli::ParseOldContexts(text, "config.yaml")}) {
    if (!contexts.ok()) continue;
    const std::string printed = dt::cli::ContextsText(*contexts);
    const auto again = dt::cli::ParseContexts(printed, "contexts.json");
    if (!again.ok() || dt::cli::ContextsText(*again) != printed) std::abort();
  }
  return 0;
}
