// tpe.h: the tree-structured Parzen estimator: draws the next configuration where good ones are
// dense and others are not.
//
// Role:      pure; the same history and key give the same point on every machine.
// Ownership: borrows the space, which must outlive it.
// Source:    Bergstra et al. 2011; Watanabe, Tree-Structured Parzen Estimator, 2023; multivariate,
//            with a constant liar, as in Optuna 5. With several objectives MOTPE: Ozaki et al.,
//            GECCO 2020; history.h splits by domination, and the densities are the same.
// Tests:     tests/coordinator/search/searcher_test.cc; bench/search compares it with Optuna.
#pragma once

#include "common/draw.h"
#include "coordinator/search/history.h"
#include "coordinator/search/parzen.h"
#include "spec/space.h"

namespace dt::search {

// Number of points drawn from the good ones' density; the best of them is chosen.
inline constexpr int kCandidates = 24;

// The model for a single configuration: fitted once, however often it draws again.
class Tpe {
 public:
  Tpe(const spec::Space& space, const Evidence& evidence);
  // Returns the best of kCandidates draws by the ratio of the two densities; the first of equal
  // ones.
  Point Draw(const DrawKey& key) const;

 private:
  Mixture good_;
  Mixture bad_;
};

}  // namespace dt::search
