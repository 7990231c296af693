// searcher.h: which configuration a search tries next, and why.
//
// Role:    pure: the same plan, space, history and configuration give the same proposal, so that a
//          restart proposes what it would have proposed.
// Errors:  none; a search that has nothing left to propose says so in a sentence.
// Bounds:  limits::kRedraws draws of the model and as many uniform ones,
//          limits::kCombinationsWalked combinations.
// Tests:   tests/coordinator/search/searcher_test.cc, tests/coordinator/search/golden_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "coordinator/search/history.h"
#include "spec/space.h"

namespace dt::search {

// Configurations with a result before a model learns from them; till then draws are uniform.
inline constexpr size_t kUniformFirst = 10;
// Where a ladder ends most trials early, every so many-th configuration is uniform: a model that is
// fitted to what rungs let go on would see less and less of the space.
inline constexpr uint32_t kUniformEvery = 3;

// What the model learns from.
enum class Judged : uint8_t { kByResult, kByRung };
struct Plan {
  uint64_t seed = 0;  // of the search, not of the experiment's number: a file decides its trials
  Judged judged = Judged::kByResult;
};

struct Proposal {
  Point at;
  std::string reason;  // "tpe: best of 24; 7 good, 61 other, 6 open"
};
// Nothing more is proposed: nothing is left, or the search itself erred, which is a bug of ours or
// a journal of another version, and ends the experiment's search rather than the service.
enum class Stopped : uint8_t { kUsedUp, kErred };
struct Exhausted {
  std::string reason;
  Stopped why = Stopped::kUsedUp;
};
// Whether a trial of this point may run: it passes the checks and is not excluded.
using Allowed = absl::FunctionRef<bool(const Point&)>;

// What `configuration` tries: within the space, allowed, and not tried before. Where the model's
// draws are all refused or tried, uniform ones follow, and a finite space is walked.
// REQUIRES: history has not opened `configuration`.
std::variant<Proposal, Exhausted> Propose(const Plan& plan, const spec::Space& space,
                                          const History& history, uint32_t configuration,
                                          Allowed allowed);

}  // namespace dt::search
