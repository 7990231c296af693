// contexts_fuzz.cc: any bytes as dtctl's file of contexts: refused, or printed and read back the
// same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/remote/contexts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto contexts = dt::cli::ParseContexts(text, "config.yaml");
  if (!contexts.ok()) return 0;
  const std::string printed = dt::cli::ContextsText(*contexts);
  const auto again = dt::cli::ParseContexts(printed, "config.yaml");
  if (!again.ok() || dt::cli::ContextsText(*again) != printed) std::abort();
  return 0;
}
