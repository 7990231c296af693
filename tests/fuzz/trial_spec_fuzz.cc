// trial_spec_fuzz.cc: any JSON laid over a complete specification, as a trainer and dtprogram read
// it: refused with a reason, or a plan of steps within its bounds.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/json_depth.h"
#include "tests/worker/trainer/resolved_spec.h"
#include "worker/program/environment.h"
#include "worker/trainer/trial/spec.h"

namespace {

using nlohmann::json;

void CheckTrial(const json& spec) {
  const auto trial = dt::trainer::ParseTrialSpec(spec);
  if (!trial.ok()) {
    if (trial.status().message().empty()) std::abort();
    return;
  }
  constexpr uint64_t kWindows = 1000;
  for (const int ranks : {1, 4}) {
    const auto plan = dt::trainer::PlanSteps(*trial, ranks - 1, ranks, kWindows);
    if (plan.ok() && (plan->target_steps <= 0 || plan->tokens_per_step <= 0)) std::abort();
  }
  dt::trainer::ModelFields(trial->model);
}

void CheckProgram(const json& spec) {
  const auto program = dt::program::SpecOf(spec);
  if (!program.ok()) {
    if (program.status().message().empty()) std::abort();
    return;
  }
  dt::program::WordsOf(*program);
  dt::program::HashOf({}, *program);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const json whole = dt::testing::Resolved({{"data", {{"train", "train_*.bin"}}}});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (dt::NestsTooDeep(text)) return 0;  // no frame can bring it
  const json changes = json::parse(text.begin(), text.end(), nullptr, false);
  if (changes.is_discarded()) return 0;
  CheckTrial(changes);
  CheckProgram(changes);
  json changed = whole;
  changed.merge_patch(changes);
  CheckTrial(changed);
  CheckProgram(changed);
  return 0;
}
