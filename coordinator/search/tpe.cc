#include "coordinator/search/tpe.h"

#include <utility>
#include <vector>

namespace dt::search {

Tpe::Tpe(const spec::Space& space, const Evidence& evidence)
    : good_(space, evidence.good), bad_(space, evidence.bad) {}

Point Tpe::Draw(const DrawKey& key) const {
  std::vector<Point> candidates;
  candidates.reserve(kCandidates);
  for (uint64_t i = 0; i < kCandidates; ++i) candidates.push_back(good_.Draw(key, i));
  const std::vector<double> good = good_.LogDensities(candidates);
  const std::vector<double> bad = bad_.LogDensities(candidates);
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (good[i] - bad[i] > good[best] - bad[best]) best = i;
  }
  return std::move(candidates[best]);
}

}  // namespace dt::search
