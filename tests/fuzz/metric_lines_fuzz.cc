// metric_lines_fuzz.cc: any text as a pattern and as printed lines, the first line being the
// pattern. Each line's numbers become a report that is read.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "worker/program/metric_lines.h"
#include "worker/program/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = std::min(text.find('\n'), text.size());
  auto lines =
      dt::program::MetricLines::Make({std::string(text.substr(0, first)), "tqdm", "lightning"}, 3);
  if (!lines.ok()) {
    if (lines.status().message().empty()) std::abort();
    lines = dt::program::MetricLines::Make({"tqdm", "lightning", "step {step} {} loss {loss}"}, 3);
  }
  dt::program::Samples samples(3, dt::program::Samples::Fall::kLift);
  text.remove_prefix(std::min(first + 1, text.size()));
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto sample = lines->Take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!sample) continue;
    const std::string line = samples.LineOf(*sample);
    const auto read = dt::program::ReadReport(line);
    const auto* wrong = std::get_if<dt::program::WrongLine>(&read);
    if (!line.empty() && wrong != nullptr && wrong->why.starts_with("it is not a JSON object")) {
      std::abort();
    }
  }
  return 0;
}
