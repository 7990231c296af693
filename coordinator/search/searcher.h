// searcher.h: chooses the next configuration of a search, and gives the reason.
//
// Role:    pure: the same plan, space, history and configuration give the same proposal, so that a
//          restart makes the same proposals.
// Errors:  none; a search with nothing left to propose says so in a sentence.
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

// Number of configurations with a result before a model learns from them; earlier draws are
// uniform.
inline constexpr size_t kUniformFirst = 10;
// Interval of uniform configurations when a ladder ends most trials early. A model fitted only to
// survivors of rungs would see less and less of the space.
inline constexpr uint32_t kUniformEvery = 3;

// The data that the model learns from.
enum class Judged : uint8_t { kByResult, kByRung };
struct Plan {
  uint64_t seed = 0;  // the search's, not from the experiment's number: the same file gives the
                      // same trials
  Judged judged = Judged::kByResult;
};

struct Proposal {
  Point at;
  std::string reason;  // "tpe: best of 24; 7 good, 61 other, 6 open"
};
// The reason why a search proposes nothing more: nothing is left, or the search itself failed. A
// failure is a bug of ours or a journal of another version. It ends the experiment's search, not
// the service.
enum class Stopped : uint8_t { kUsedUp, kErred };
struct Exhausted {
  std::string reason;
  Stopped why = Stopped::kUsedUp;
};
// Returns whether a trial of this point may run: it passes the checks and is not excluded.
using Allowed = absl::FunctionRef<bool(const Point&)>;

// Returns the point that `configuration` tries: in the space, allowed and untried. If all draws of
// the model are refused or tried, uniform draws follow, and then a walk through a finite space.
// REQUIRES: history has not opened `configuration`.
std::variant<Proposal, Exhausted> Propose(const Plan& plan, const spec::Space& space,
                                          const History& history, uint32_t configuration,
                                          Allowed allowed);

// Returns a value for `configuration` in a space of one dimension, from what others had there. It
// may have been tried: the others differ elsewhere.
Proposal Suggest(const Plan& plan, const spec::Space& space, const History& history,
                 uint32_t configuration);

}  // namespace dt::search
