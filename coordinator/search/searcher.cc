#include "coordinator/search/searcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/draw.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/search/tpe.h"

namespace dt::search {
namespace {

// The source of one configuration's draws: uniform, or a model.
struct Source {
  std::optional<Tpe> model;
  std::string reason;
};

Source SourceOf(const Plan& plan, const spec::Space& space, const History& history,
                uint32_t configuration) {
  if (history.ended() < kUniformFirst) {
    return {std::nullopt, absl::StrCat("uniform: ", history.ended(), " of the ", kUniformFirst,
                                       " configurations that the model needs have ended")};
  }
  if (plan.judged == Judged::kByRung && configuration % kUniformEvery == 0) {
    return {std::nullopt, "uniform: every third is, where rungs end trials early"};
  }
  const Evidence evidence = plan.judged == Judged::kByRung ? history.ByRung() : history.ByResult();
  return {Tpe(space, evidence),
          absl::StrCat("tpe: best of ", kCandidates, "; ", evidence.good.size(), " good, ",
                       evidence.bad.size() - evidence.open, " other, ", evidence.open, " open")};
}

// Moves to the combination after `places`: the last dimension changes fastest, and the first
// combination follows the last.
void Advance(const spec::Space& space, std::vector<uint64_t>& places) {
  for (size_t d = places.size(); d-- > 0;) {
    if (++places[d] < spec::PlacesOf(space.dimensions[d])) return;
    places[d] = 0;
  }
}

// Returns the first allowed and untried combination, starting at a random one; if there is none,
// the reason.
std::variant<Proposal, Exhausted> Walk(const spec::Space& space, const History& history,
                                       const DrawKey& key, uint64_t combinations, Allowed allowed) {
  Point at = spec::DrawUniform(space, key);
  std::vector<uint64_t> places;
  for (size_t d = 0; d < at.size(); ++d) {
    places.push_back(spec::PlaceOf(space.dimensions[d], at[d]));
  }
  uint32_t refused = 0;
  // With conditions, several tuples of places give one combination.
  const uint64_t tuples = spec::ProductOf(space).value_or(limits::kCombinationsWalked + 1);
  const uint64_t walked = std::min(tuples, limits::kCombinationsWalked);
  for (uint64_t i = 0; i < walked && refused < limits::kRedraws; ++i) {
    for (size_t d = 0; d < at.size(); ++d) at[d] = spec::ValueAt(space.dimensions[d], places[d]);
    spec::Deactivate(space, at);
    if (spec::IsFirstOf(at, places) && !history.Tried(at)) {
      if (allowed(at)) {
        return Proposal{
            std::move(at),
            absl::StrCat("the next that was not tried: ", limits::kRedraws, " draws gave none")};
      }
      ++refused;
    }
    Advance(space, places);
  }
  if (walked == tuples && refused < limits::kRedraws) {
    return Exhausted{absl::StrCat("all of the ", combinations,
                                  " combinations that pass the checks have been tried")};
  }
  return Exhausted{absl::StrCat(
      "no combination that passes the checks and was not tried was found "
      "in ",
      limits::kRedraws, " draws and ", walked, " of the ", combinations, " combinations")};
}

}  // namespace

std::variant<Proposal, Exhausted> Propose(const Plan& plan, const spec::Space& space,
                                          const History& history, uint32_t configuration,
                                          Allowed allowed) {
  const std::optional<uint64_t> combinations = spec::CombinationsOf(space);
  if (combinations.has_value() && history.points_tried() >= *combinations) {
    return Exhausted{absl::StrCat("all ", *combinations, " combinations have been tried")};
  }
  Source source = SourceOf(plan, space, history, configuration);
  DrawKey key{.seed = plan.seed, .configuration = configuration};
  for (; key.redraw < limits::kRedraws; ++key.redraw) {
    DrawKey draw = key;
    if (Mutated(Mutant::kKeyWithoutRedraw)) draw.redraw = 0;
    Point at = source.model.has_value() ? source.model->Draw(draw) : spec::DrawUniform(space, draw);
    if (!spec::Contains(space, at)) {
      return Exhausted{"it proposed what is not in its ranges: an error of dtrain's",
                       Stopped::kErred};
    }
    if (!history.Tried(at) && allowed(at)) return Proposal{std::move(at), std::move(source.reason)};
  }
  if (combinations.has_value()) return Walk(space, history, key, *combinations, allowed);
  for (; source.model.has_value() && key.redraw < 2 * limits::kRedraws; ++key.redraw) {
    Point at = spec::DrawUniform(space, key);
    if (history.Tried(at) || !allowed(at)) continue;
    return Proposal{std::move(at), absl::StrCat("uniform: the model's ", limits::kRedraws,
                                                " draws were tried or fail the checks")};
  }
  return Exhausted{absl::StrCat(
      "none of ", key.redraw, " draws was a combination that passes the checks and was not tried")};
}

Proposal Suggest(const Plan& plan, const spec::Space& space, const History& history,
                 uint32_t configuration) {
  Source source = SourceOf(plan, space, history, configuration);
  // Parameters of one configuration are drawn independently.
  const DrawKey key{.seed = plan.seed ^ DrawName(space.dimensions.front().path),
                    .configuration = configuration};
  Point at = source.model.has_value() ? source.model->Draw(key) : spec::DrawUniform(space, key);
  return {std::move(at), std::move(source.reason)};
}

}  // namespace dt::search
