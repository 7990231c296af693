// batch_size.h: the critical batch size, beyond which a larger batch saves few steps and costs many
// tokens: from the gradient noise scale, and from trials with several batch sizes.
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

// Steps that a batch size needs to reach a loss.
struct StepsToLoss {
  double batch = 0;  // tokens of a step
  double steps = 0;  // until the loss was reached
};
// Least-squares fit of S = S_min + E_min / B, by relative errors.
struct BatchFit {
  double least_steps = 0, least_tokens = 0;
  double Critical() const { return least_tokens / least_steps; }
};
// Returns nothing for fewer than three batches, or where the batches show no such law: all far
// below the critical batch, or all far above it.
std::optional<BatchFit> FitBatches(const std::vector<StepsToLoss>& reached);

void AppendBatchSize(const Experiment& experiment, Document& document);

}  // namespace dt::report
