// api_call_fuzz.cc: any bytes as the path and query of a call of /api/v1: refused, or within
// bounds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/api_limits.h"
#include "coordinator/api/api.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t mark = std::min(text.find('?'), text.size());
  const auto call =
      dt::ReadApiCall(text.substr(0, mark), text.substr(std::min(mark + 1, text.size())));
  if (!call.ok()) {
    if (call.status().message().empty()) std::abort();
    return 0;
  }
  if (call->last && call->experiment != 0) std::abort();
  if (call->page_size < 0 || call->rank < -1 || call->since_wall_ms < 0) std::abort();
  if (!std::is_sorted(call->trials.begin(), call->trials.end())) std::abort();
  return 0;
}
