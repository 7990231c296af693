// metric_rows_fuzz.cc: any bytes as a file of CSV or JSON lines: each row gives a line that is read
// as a report, or refused with a reason.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "worker/program/metric_rows.h"
#include "worker/program/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  dt::program::MetricRows rows;
  dt::program::Samples samples(0, dt::program::Samples::Fall::kKeep);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto sample = rows.Take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!sample) continue;
    if (sample->values.empty() || sample->values.size() > dt::program::kSampleNames) std::abort();
    const std::string line = samples.LineOf(*sample);
    const auto read = dt::program::ReadReport(line);
    const auto* wrong = std::get_if<dt::program::WrongLine>(&read);
    if (!line.empty() && wrong != nullptr && wrong->why.starts_with("it is not a JSON object")) {
      std::abort();
    }
  }
  return 0;
}
