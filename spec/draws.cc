// draws.cc: draws combinations, and decides whether a combination may be a trial.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/limits.h"
#include "spec/conditions.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

// The seed for the draws of a check. No file can have it: seeds of files are below 2^53.
constexpr uint64_t kCheckSeed = 0xd7a1'0000'0000'0001;

std::string CanonicalText(const ParameterFields& fields, const std::string& path,
                          const v1::Value& value) {
  const Field* field = fields.Find(path);
  if (field == nullptr) return ValueText(value);
  const ReadValue read = Canonical(*field, value);
  return ValueText(read.value ? *read.value : value);
}

// Draws one configuration after another.
class Drawing {
 public:
  Drawing(const v1::ExperimentSpec& spec, const Space& space)
      : space_(space),
        admission_(spec),
        seed_(SearchSeed(spec)),
        combinations_(CombinationsOf(space)),
        product_(ProductOf(space)) {}

  void Include(const std::vector<v1::Assignment>& assignments) {
    if (auto point = PointOf(space_, assignments)) Try(*std::move(point));
  }

  // Returns the cost of all draws so far, in draws of one parameter without exclusions. Listing the
  // combinations has a bound of its own; of that list only the cost of further parameters and
  // exclusions counts.
  size_t checked() const { return checked_; }

  // Returns whether every combination was tried or is known to be refused.
  bool UsedUp() const {
    return (combinations_ && tried_.size() >= *combinations_) || (listed_ && rest_.empty());
  }

  // Returns nothing if all its draws were refused, or nothing is left.
  std::optional<std::vector<v1::Assignment>> Next(uint32_t configuration) {
    for (uint32_t redraw = 0; redraw < limits::kRedraws; ++redraw) {
      Point point = DrawUniform(space_, {seed_, configuration, redraw});
      if (tried_.contains(point)) continue;
      std::vector<v1::Assignment> assignments = AssignmentsOf(space_, point);
      checked_ += admission_.Cost();
      if (!admission_.Admits(assignments)) continue;
      Try(std::move(point));
      return assignments;
    }
    return FromRest(configuration);
  }

 private:
  // Returns a combination not tried yet, if the space is small enough to be listed.
  std::optional<std::vector<v1::Assignment>> FromRest(uint32_t configuration) {
    if (!combinations_ || *combinations_ > limits::kTrialsPerExperiment) return std::nullopt;
    if (product_.value_or(limits::kCombinations) >= limits::kCombinations) return std::nullopt;
    if (!listed_) ListRest();
    if (rest_.empty()) return std::nullopt;  // UsedUp from now on
    const double unit =
        DrawUnit(DrawKey{seed_, configuration, limits::kRedraws}, Purpose::kUniform);
    const auto place = static_cast<size_t>(unit * static_cast<double>(rest_.size()));
    Point point = rest_[place];
    std::vector<v1::Assignment> assignments = AssignmentsOf(space_, point);
    Try(std::move(point));
    return assignments;
  }

  void Try(Point point) {
    if (listed_) std::erase(rest_, point);
    tried_.insert(std::move(point));
  }

  void ListRest() {
    listed_ = true;
    checked_ += *combinations_ * (admission_.Cost() - 1);
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < *product_; ++i) {
      Point point;
      all.clear();
      uint64_t left = i;
      for (const Dimension& dimension : space_.dimensions) {
        const uint64_t places = PlacesOf(dimension);
        all.push_back(left % places);
        point.push_back(ValueAt(dimension, all.back()));
        left /= places;
      }
      Deactivate(space_, point);
      if (!IsFirstOf(point, all)) continue;
      const bool drawn = std::none_of(
          space_.dimensions.begin(), space_.dimensions.end(), [&](const Dimension& dimension) {
            const auto d = static_cast<size_t>(&dimension - space_.dimensions.data());
            return !dimension.weights.empty() && point[d] != kInactive &&
                   dimension.weights[static_cast<size_t>(point[d])] <= 0;
          });
      if (drawn && !tried_.contains(point) && admission_.Admits(AssignmentsOf(space_, point))) {
        rest_.push_back(std::move(point));
      }
    }
  }

  const Space& space_;
  const Admission admission_;
  const uint64_t seed_;
  const std::optional<uint64_t> combinations_;
  const std::optional<uint64_t> product_;
  std::set<Point> tried_;
  size_t checked_ = 0;
  bool listed_ = false;
  std::vector<Point> rest_;
};

}  // namespace

Admission::Admission(const v1::ExperimentSpec& spec)
    : spec_(spec),
      fields_(spec),
      set_(spec.explicit_paths().begin(), spec.explicit_paths().end()),
      conditional_(HasConditions(spec)) {
  for (const v1::Parameter& parameter : spec.parameters()) set_.insert(parameter.path());
  for (const v1::Exclusion& exclusion : spec.exclude()) {
    std::map<size_t, std::string> combination;  // the last combination that names a parameter twice
    for (const v1::Assignment& where : exclusion.where()) {
      const size_t place = places_.try_emplace(where.path(), places_.size()).first->second;
      combination[place] = CanonicalText(fields_, where.path(), where.value());
    }
    if (combination.empty()) continue;
    std::vector<size_t> places;
    Texts texts;
    for (auto& [place, text] : combination) {
      places.push_back(place);
      texts.push_back(std::move(text));
    }
    std::set<Texts>& of_places = excluded_[std::move(places)];
    if (of_places.empty()) compared_ += texts.size();
    of_places.insert(std::move(texts));
  }
}

bool Admission::Excludes(const std::vector<v1::Assignment>& assignments) const {
  if (excluded_.empty()) return false;
  std::vector<std::optional<std::string>> texts(places_.size());
  for (const v1::Assignment& one : assignments) {
    const auto place = places_.find(one.path());
    if (place == places_.end()) continue;
    texts[place->second] = CanonicalText(fields_, one.path(), one.value());
  }
  return std::any_of(excluded_.begin(), excluded_.end(), [&texts](const auto& excluded) {
    Texts said;
    for (const size_t place : excluded.first) {
      if (!texts[place].has_value()) return false;
      said.push_back(*texts[place]);
    }
    return excluded.second.contains(said);
  });
}

std::vector<Violation> Admission::Violations(const std::vector<v1::Assignment>& assignments) const {
  const absl::StatusOr<v1::Spec> trial = ResolveTrial(spec_, assignments);
  if (trial.ok()) return CheckTrial(*trial, conditional_ ? SetIn(spec_, assignments) : set_);
  return {Unresolved(trial.status())};
}

bool Admission::Admits(const std::vector<v1::Assignment>& assignments) const {
  return !Excludes(assignments) && Violations(assignments).empty();
}

std::vector<v1::Assignment> IncludedAt(const v1::ExperimentSpec& spec,
                                       const v1::Inclusion& included) {
  const ParameterFields fields(spec);
  std::vector<v1::Assignment> assignments;
  for (const v1::Parameter& parameter : spec.parameters()) {
    for (const v1::Assignment& one : included.values()) {
      if (one.path() != parameter.path()) continue;
      v1::Assignment& assignment = assignments.emplace_back(one);
      const Field* field = fields.Find(one.path());
      ReadValue read;
      if (field != nullptr) read = Canonical(*field, one.value());
      if (read.value) *assignment.mutable_value() = *std::move(read.value);
    }
  }
  return assignments;
}

void ForEachSample(const v1::ExperimentSpec& spec,
                   const std::function<bool(const Sample& sample)>& visit) {
  for (const v1::Inclusion& included : spec.include()) {
    if (!visit({IncludedAt(spec, included), {}})) return;
  }
  if (SamplerOf(spec) == Sampler::kGrid) {
    ForEachTrial(MakeGrid(spec),
                 [&](const std::vector<size_t>& at) { return visit(SampleAt(spec, at)); });
    return;
  }
  const absl::StatusOr<Space> space = SpaceOf(spec);
  if (!space.ok()) return;
  for (uint32_t i = 1; i <= limits::kPointsChecked; ++i) {
    if (!visit({AssignmentsOf(*space, DrawUniform(*space, {kCheckSeed, i, 0})), {}})) return;
  }
}

Configurations DrawConfigurations(const v1::ExperimentSpec& spec, const Space& space, size_t count,
                                  const MayGoOn& may_go_on) {
  Drawing drawing(spec, space);
  Configurations configurations;
  for (const v1::Inclusion& included : spec.include()) {
    configurations.push_back(IncludedAt(spec, included));
    drawing.Include(configurations.back());
  }
  // A number whose draws are all refused is skipped. If that left an experiment without trials, a
  // few more numbers are drawn: the checks of the submission have shown that a share of the draws
  // passes.
  const size_t included = configurations.size();
  for (size_t i = included + 1;
       i <= count || (configurations.empty() && i <= limits::kPointsChecked); ++i) {
    if (drawing.UsedUp() || !GoesOn(may_go_on)) break;
    auto next = drawing.Next(static_cast<uint32_t>(i));
    if (next) configurations.push_back(*std::move(next));
  }
  return configurations;
}

std::optional<Configurations> DrawFurther(const v1::ExperimentSpec& spec, const Space& space,
                                          const Configurations& known, size_t before,
                                          size_t count) {
  const auto included = static_cast<size_t>(spec.include_size());
  // The number of the first drawn one may be beyond `before`, so the draws are repeated from the
  // first number.
  const bool again = known.size() <= included + 1;
  Drawing drawing(spec, space);
  for (size_t i = 0; i < (again ? included : known.size()); ++i) drawing.Include(known[i]);
  size_t skip = again ? known.size() - included : 0;
  Configurations further;
  for (size_t i = 1 + (again ? included : std::max(included, before)); i <= count; ++i) {
    if (drawing.UsedUp()) break;
    auto next = drawing.Next(static_cast<uint32_t>(i));
    if (drawing.checked() > kDrawsAtOnce) return std::nullopt;
    if (!next) continue;
    if (skip > 0) {
      --skip;
    } else {
      further.push_back(*std::move(next));
    }
  }
  return further;
}

}  // namespace dt::spec::internal

namespace dt::spec {

Admits AdmissionTo(const v1::ExperimentSpec& spec) {
  auto admission = std::make_shared<internal::Admission>(spec);
  return [admission](const std::vector<v1::Assignment>& assignments) {
    return admission->Admits(assignments);
  };
}

}  // namespace dt::spec
