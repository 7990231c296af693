// experiment_file_fuzz.cc: any bytes as an experiment file, some of them as a --set. Refused with
// diagnostics that have a place, or valid: then it can be printed and read again.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "spec/file/experiment_file.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace {

// Checks that drawn values lie within their ranges and in their lists.
void CheckDrawn(const dtrain::v1::ExperimentSpec& spec,
                const std::vector<dtrain::v1::ExpandedTrial>& trials) {
  const auto space = dt::spec::SpaceOf(spec);
  if (!space.ok()) std::abort();
  for (const auto& trial : trials) {
    std::vector<dtrain::v1::Assignment> values(trial.assignments().begin(),
                                               trial.assignments().end());
    if (!spec.seeds().empty()) values.pop_back();
    if (!dt::spec::PointOf(*space, values)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The bytes after a 0x01, which no file may hold, are an argument of --set.
  const size_t split = text.find('\x01');
  std::vector<std::string> overrides;
  if (split != std::string_view::npos) overrides.emplace_back(text.substr(split + 1));
  const auto file = dt::spec::ReadExperimentFile(text.substr(0, split), "fuzz.yaml", overrides);
  for (const dt::spec::Diagnostic& one : file.diagnostics) {
    if (one.code.empty() || one.message.empty() || one.line < 0 || one.column < 0) std::abort();
  }
  const std::string shown = dt::spec::RenderDiagnostics(file.diagnostics);
  if (shown.find('\x1b') != std::string::npos) std::abort();
  if (!file.diagnostics.empty()) return 0;
  const auto trials = dt::spec::Expand(file.spec);
  if (!trials.ok()) std::abort();
  if (dt::spec::SamplerOf(file.spec) == dt::spec::Sampler::kRandom) CheckDrawn(file.spec, *trials);
  // These take a second each in this build, as a thousand of their combinations are drawn and
  // checked.
  constexpr size_t kOneIn = 16;
  if (dt::spec::SamplerOf(file.spec) != dt::spec::Sampler::kGrid && size % kOneIn != 0) return 0;
  if (!dt::spec::Validate(file.spec).empty()) std::abort();
  const std::string printed = dt::spec::ToYaml(file.spec);
  const auto again = dt::spec::ReadExperimentFile(printed, "printed.yaml");
  if (!again.diagnostics.empty() || dt::spec::ToYaml(again.spec) != printed) std::abort();
  const auto effective = dt::spec::ReadExperimentFile(file.effective_text, "effective.yaml");
  if (effective.spec.SerializeAsString() != file.spec.SerializeAsString()) std::abort();
  return 0;
}
