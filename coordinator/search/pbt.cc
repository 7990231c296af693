// pbt.cc: judges members, chooses donors and explores values.
#include "coordinator/search/pbt.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/check.h"

namespace dt::search {
namespace {

// Purposes of the draws of Purpose::kMember.
enum Draws : uint64_t { kDonor = 1, kWhether = 2, kDirection = 3, kAnew = 4 };

constexpr double kDown = 0.8;
constexpr double kUp = 1.2;

// REQUIRES: `places` is at least 1.
double MovedPlace(uint64_t place, uint64_t places, bool up) {
  if (up) return static_cast<double>(std::min(place + 1, places - 1));
  return static_cast<double>(place - std::min<uint64_t>(place, 1));
}

double Moved(const spec::Dimension& dimension, double value, bool up) {
  using spec::DimensionKind;
  if (dimension.kind == DimensionKind::kChoice) return value;
  const double by = std::clamp(value * (up ? kUp : kDown), dimension.low, dimension.high);
  if (dimension.kind == DimensionKind::kReal) return spec::Settled(dimension, by);
  // An integer without written steps is scaled like a number, and moves by at least one place.
  const double next =
      spec::ValueAt(dimension, static_cast<uint64_t>(MovedPlace(spec::PlaceOf(dimension, value),
                                                                spec::PlacesOf(dimension), up)));
  if (dimension.kind == DimensionKind::kOrdered || !dimension.integer || dimension.step != 1) {
    return next;
  }
  const double settled = spec::Settled(dimension, by);
  return settled == value ? next : settled;
}

}  // namespace

DrawKey MemberKey(uint64_t seed, uint32_t trial, int share) {
  return {.seed = seed, .configuration = trial, .redraw = static_cast<uint32_t>(share)};
}

Turnover JudgeMember(const Rung& share, const Population& population, uint32_t trial, double cost) {
  DT_CHECK(!share.Has(trial));
  Turnover turnover{.place = share.PlaceOf(trial, cost),
                    .entries = static_cast<uint32_t>(share.entries()) + 1};
  const auto part = static_cast<uint32_t>(std::ceil(population.quantile * turnover.entries - 1e-9));
  turnover.part = std::min(part, turnover.entries / 2);
  turnover.takes_over = turnover.place > turnover.entries - turnover.part;
  return turnover;
}

uint32_t ChooseDonor(const Rung& share, const Turnover& turnover, const DrawKey& key,
                     absl::FunctionRef<bool(uint32_t)> usable) {
  std::vector<uint32_t> donors;
  // The member itself is not entered; its place is behind all of these.
  for (uint32_t place = 1; place <= turnover.part; ++place) {
    const auto [cost, trial] = share.At(place);
    if (std::isfinite(cost) && usable(trial)) donors.push_back(trial);
  }
  if (donors.empty()) return 0;
  const double unit = DrawUnit(key, Purpose::kMember, kDonor);
  return donors[std::min(donors.size() - 1,
                         static_cast<size_t>(unit * static_cast<double>(donors.size())))];
}

Point Explore(const spec::Space& space, const Point& taken, const Population& population,
              const DrawKey& key, uint32_t turn) {
  DrawKey anew = key;
  anew.seed = DrawBits({key.seed, static_cast<uint64_t>(Purpose::kMember), kAnew, turn});
  const Point drawn = spec::DrawAll(space, anew);
  Point point;
  for (size_t d = 0; d < taken.size(); ++d) {
    const spec::Dimension& dimension = space.dimensions[d];
    const uint64_t name = DrawBits({DrawName(dimension.path), turn});
    const bool absent = taken[d] == spec::kInactive;  // a changed value may make it active
    if (absent || DrawUnit(key, Purpose::kMember, kWhether, name) < population.resample) {
      point.push_back(drawn[d]);
      continue;
    }
    const bool up = DrawUnit(key, Purpose::kMember, kDirection, name) < 0.5;
    point.push_back(Moved(dimension, taken[d], up));
  }
  spec::Deactivate(space, point);
  return point;
}

std::string ReasonOf(const Turnover& turnover, int share, uint64_t step, std::string_view metric,
                     double value) {
  return absl::StrFormat("share %d (step %d): %s %.5g is %s of %d", share, step,
                         std::string(metric), value, Ordinal(turnover.place), turnover.entries);
}

std::string InfeasibleReasonOf(const Turnover& turnover, int share, uint64_t step,
                               std::string_view broken) {
  return absl::StrFormat("share %d (step %d): %s, so it is %s of %d", share, step,
                         std::string(broken), Ordinal(turnover.place), turnover.entries);
}

}  // namespace dt::search
