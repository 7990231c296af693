// choose_wire.cc: see choose_wire.h.
#include "worker/trainer/run/choose_wire.h"

#include <cstdio>
#include <string>
#include <vector>

namespace dt::trainer {

absl::Status ChooseWire(int64_t step, Stepper& stepper, Mesh& mesh, Strategy& strategy,
                        WireChoice& choice) {
  if (!choice.Measures(step) || mesh.size(Axis::kData) == 1) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const StepMeasures measures, stepper.Measure());
  choice.Add({measures.phases.comm_exposed, measures.phases.Sum()});
  if (!choice.ChoosesAfter(step)) return absl::OkStatus();
  const WireMeasure& mine = choice.mine();
  std::vector<WireMeasure> ranks;
  for (const std::vector<double>& rank :
       mesh.Gather(Axis::kData, {mine.waited_seconds, mine.seconds})) {
    ranks.push_back({rank[0], rank[1]});
  }
  using Narrows = WireChoice::Narrows;
  const std::string reason =
      choice.Choose(ranks, strategy.MayNarrow() ? Narrows::kYes : Narrows::kNo);
  if (choice.chosen() == Wire::kBf16) strategy.Narrow();
  if (mesh.IsRoot()) {
    std::fprintf(stderr, "parallel.compression auto: from step %lld on gradients are sent in %s\n",
                 static_cast<long long>(step + 1), reason.c_str());
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
