// tpe.h: the tree-structured Parzen estimator: where good configurations are dense and others are
// not, the next one is drawn.
//
// Role:      pure; the same history and key give the same point on every machine.
// Ownership: borrows the space, which must outlive it.
// Source:    Bergstra et al. 2011; Watanabe, Tree-Structured Parzen Estimator, 2023; multivariate,
//            with a constant liar, as Optuna 5 has it.
// Tests:     tests/coordinator/search/searcher_test.cc; bench/search compares it with Optuna.
#pragma once

#include "common/draw.h"
#include "coordinator/search/history.h"
#include "coordinator/search/parzen.h"
#include "spec/space.h"

namespace dt::search {

// Points that are drawn from the good ones' density to choose one of.
inline constexpr int kCandidates = 24;

// One configuration's model: fitted once, however often it draws again.
class Tpe {
 public:
  Tpe(const spec::Space& space, const Evidence& evidence);
  // The best of kCandidates by the ratio of the two densities; of equal ones the first drawn.
  Point Draw(const DrawKey& key) const;

 private:
  Mixture good_;
  Mixture bad_;
};

}  // namespace dt::search
