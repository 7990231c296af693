// batch_size.h: the critical batch: beyond which a larger batch saves few steps and costs many
// tokens. As the gradient noise scale tells it, and as trials with several batch sizes show it.
//
// Role:   pure. Adds nothing where no noise scale was measured and no batch sizes compare.
// Source: McCandlish et al., "An Empirical Model of Large-Batch Training", 2018 (arXiv:1812.06162),
//         sections 2.2 to 2.4: with learning rates chosen for each batch B, the steps S and the
//         tokens E to a loss are S = S_min (1 + B_crit / B) and E = E_min (1 + B / B_crit), where
//         B_crit = E_min / S_min is about the noise scale.
// Tests:  tests/report/page/batch_size_test.cc
#pragma once

#include <optional>
#include <vector>

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// How far a batch size got.
struct StepsToLoss {
  double batch = 0;  // tokens of a step
  double steps = 0;  // until the loss was reached
};
// Least squares of S = S_min + E_min / B, of relative errors.
struct BatchFit {
  double least_steps = 0, least_tokens = 0;
  double Critical() const { return least_tokens / least_steps; }
};
// Nothing where there are fewer than three batches, or these show no such law: all far below the
// critical batch, or all far above it.
std::optional<BatchFit> FitBatches(const std::vector<StepsToLoss>& reached);

void AppendBatchSize(const Experiment& experiment, Document& document);

}  // namespace dt::report
