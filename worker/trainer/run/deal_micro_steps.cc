// deal_micro_steps.cc: see deal_micro_steps.h.
#include "worker/trainer/run/deal_micro_steps.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace dt::trainer {

MicroStepBalance MakeBalance(const TrialSpec& spec, const BatchPlan& batch, int64_t begun) {
  if (spec.balance == Balance::kNone || batch.micro_steps() == 1) return {};
  return MicroStepBalance(begun, batch.world_size, batch.micro_steps());
}

absl::Status DealMicroBatches(int64_t step, MicroStepBalance& balance, Membership& members,
                              Stepper& stepper) {
  if (!balance.Measures(step)) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const StepMeasures measures, stepper.Measure());
  const PhaseTimes& phases = measures.phases;
  balance.Add(phases.data + phases.forward + phases.backward);
  if (!balance.LooksAfter(step)) return absl::OkStatus();
  BatchPlan& batch = members.plan.batch;
  std::vector<double> seconds;
  for (const std::vector<double>& rank :
       members.mesh->Gather(Axis::kData, {balance.TakeSecondsOfOne(batch.own_micro_steps())})) {
    seconds.push_back(rank[0]);
  }
  if (!balance.Look(seconds)) return absl::OkStatus();
  batch.shares = balance.shares();
  members.loader->GoOnWith(batch, static_cast<uint64_t>(step));
  stepper.TakeShares();
  if (members.mesh->IsRoot()) {
    const auto milliseconds = [](std::string* out, double one) {
      absl::StrAppendFormat(out, "%.1f", 1000 * one);
    };
    std::fprintf(stderr,
                 "parallel.balance auto: from step %lld on ranks compute %s micro-batches: "
                 "one takes %s ms\n",
                 static_cast<long long>(step + 1), absl::StrJoin(batch.shares, ", ").c_str(),
                 absl::StrJoin(seconds, ", ", milliseconds).c_str());
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
