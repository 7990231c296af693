// local_sgd.cc: see local_sgd.h.
#include "worker/trainer/parallel/local_sgd.h"

#include <utility>

namespace dt::trainer {

LocalSgdStrategy::LocalSgdStrategy(const std::vector<Piece>& parameters,
                                   const std::vector<Piece>& moments, std::shared_ptr<Group> group,
                                   std::shared_ptr<Timeline> timeline, Options options)
    : parameters_(parameters),
      options_(std::move(options)),
      route_{Axis::kData, std::move(group), timeline, std::make_shared<CommTimes>(timeline)},
      mean_(parameters, moments, route_, options_.mean) {
  AfterLoad();
}

void LocalSgdStrategy::BeginStep(const StepNotes& /*notes*/) {
  route_.times->Restart();
  share_.BeginStep();
}

void LocalSgdStrategy::AfterLoad() {
  if (options_.outer != nullptr) options_.outer->Anchor();
}

void LocalSgdStrategy::AfterUpdate(int64_t step) {
  if (!options_.sync.After(step)) return;
  mean_.Take();
  if (options_.outer != nullptr) options_.outer->Step();
  ++syncs_;
  if (parameters_.at(0).value.is_cpu()) share_.Add(route_.times->Totals());
}

CommTotals LocalSgdStrategy::Totals() {
  const auto syncs = static_cast<double>(std::exchange(syncs_, 0));
  if (!parameters_.at(0).value.is_cpu()) share_.Add(route_.times->Totals(), syncs);
  return share_.Take();
}

}  // namespace dt::trainer
