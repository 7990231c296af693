// search.cc: turns the file's search words into samplers, spaces and ladders.
#include "spec/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/arithmetic.h"
#include "common/status.h"
#include "spec/conditions.h"
#include "spec/normal_range.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

double NumberIn(const v1::Value& value) {
  return value.has_integer() ? static_cast<double>(value.integer()) : value.number();
}

v1::Value BoundValue(const Field& field, double bound) {
  v1::Value value;
  if (field.type == FieldType::kInteger && bound == std::floor(bound) &&
      std::abs(bound) <= kWholeMax) {
    value.set_integer(static_cast<int64_t>(bound));
  } else {
    value.set_number(bound);
  }
  return value;
}

// Checks one bound as a value of the field.
void CheckBound(const Field& field, const std::string& path, double bound,
                std::vector<Issue>& issues) {
  if (std::isfinite(bound) && std::abs(bound) > kBoundMost) {
    const double most = bound < 0 ? -kBoundMost : kBoundMost;
    issues.push_back({path, "out_of_range",
                      absl::StrCat("'", path, "' is ", NumberText(bound), "; a bound is from ",
                                   NumberText(-kBoundMost), " to ", NumberText(kBoundMost),
                                   ", so that the width of its range is a number"),
                      absl::StrCat("write ", NumberText(most),
                                   ", or search its logarithm and raise 10 to that power")});
    return;
  }
  Field named = field;
  named.path = path;
  ReadValue read = Canonical(named, BoundValue(field, bound));
  if (!read.value) issues.push_back(std::move(read.issue));
}

void CheckStep(const Field& field, const v1::Range& range, const std::string& where,
               std::vector<Issue>& issues) {
  const double step = range.step();
  const std::string at = absl::StrCat(where, ".step");
  const bool integer = field.type == FieldType::kInteger;
  if (!std::isfinite(step) || step < 0 || (integer && step != std::floor(step))) {
    issues.push_back({at, "out_of_range",
                      absl::StrCat(at, " is ", NumberText(step), "; it must be ",
                                   integer ? "an integer above 0" : "above 0"),
                      ""});
    return;
  }
  // Integers have steps of 1 anyway.
  if (range.scale() == "log" && !range.has_normal() && !(integer && step == 1)) {
    issues.push_back(
        {at, "conflict", absl::StrCat(where, " has step and scale log"), "leave one out"});
    return;
  }
  const double steps = (range.max() - range.min()) / step;
  if (!(steps <= kWholeMax)) {
    issues.push_back({at, "out_of_range",
                      absl::StrCat(at, " is ", NumberText(step),
                                   ", too small to count the steps "
                                   "from ",
                                   NumberText(range.min()), " to ", NumberText(range.max())),
                      "leave it out"});
    return;
  }
  if (std::abs(steps - std::nearbyint(steps)) <= 1e-9 * std::max(1.0, steps)) return;
  const double below = range.min() + std::floor(steps) * step;
  std::string hint = absl::StrCat("write ", NumberText(below + step));
  if (below > range.min())
    hint = absl::StrCat("write ", NumberText(below), " or ", NumberText(below + step));
  issues.push_back(
      {absl::StrCat(where, ".max"), "conflict",
       absl::StrCat(where, ": max ", NumberText(range.max()), " is not min ",
                    NumberText(range.min()), " plus a multiple of step ", NumberText(step)),
       std::move(hint)});
}

// Makes a dimension from a list of values; numbers are sorted, and weights stay with their values.
Dimension ListDimension(const Field& field, std::vector<v1::Value> values,
                        const std::vector<double>& weights) {
  Dimension dimension;
  dimension.path = field.path;
  const bool numbers = field.type == FieldType::kInteger || field.type == FieldType::kNumber;
  dimension.kind = numbers ? DimensionKind::kOrdered : DimensionKind::kChoice;
  dimension.integer = field.type == FieldType::kInteger;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (numbers) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return NumberIn(values[a]) < NumberIn(values[b]); });
  }
  for (const size_t place : order) {
    dimension.values.push_back(values[place]);
    if (!weights.empty()) dimension.weights.push_back(weights[place]);
  }
  return dimension;
}

absl::StatusOr<Dimension> DimensionOf(const v1::Parameter& parameter,
                                      const ParameterFields& fields) {
  const Field* field = fields.Find(parameter.path());
  if (field == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameters.", parameter.path(), " is not a field; Validate says which are"));
  }
  if (parameter.has_range()) {
    const std::vector<Issue> issues = CheckRange(*field, parameter.range());
    if (!issues.empty()) return absl::InvalidArgumentError(ToString(issues.front()));
    return DimensionOf(*field, parameter.range());
  }
  std::vector<v1::Value> values;
  for (const v1::Value& value : parameter.values()) {
    ReadValue read = Canonical(*field, value);
    if (!read.value) return absl::InvalidArgumentError(ToString(read.issue));
    values.push_back(*std::move(read.value));
  }
  if (values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameters.", parameter.path(), " has no values; list at least one"));
  }
  const std::vector<double> weights(parameter.probabilities().begin(),
                                    parameter.probabilities().end());
  if (!weights.empty() && weights.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("parameters.", parameter.path(), " has ",
                                                   values.size(), " values and ", weights.size(),
                                                   " probabilities; give one for each"));
  }
  return ListDimension(*field, std::move(values), weights);
}

constexpr std::string_view kBetweenWords = "_-./";

// Returns true for "val_loss" and "loss" with the word "loss", false for "gloss".
bool EndsInWord(std::string_view name, std::string_view word) {
  if (!name.ends_with(word)) return false;
  if (name.size() == word.size()) return true;
  return kBetweenWords.find(name[name.size() - word.size() - 1]) != std::string_view::npos;
}

// Returns true for words that negate a metric: with "neg_mean_squared_error" and "minus_loss", more
// is better.
bool IsTurnedRound(std::string_view word) {
  const std::string small = absl::AsciiStrToLower({word.data(), word.size()});
  for (const char* turns : {"neg", "minus"}) {
    if (absl::StartsWith(small, turns)) return true;
  }
  for (const char* turns : {"inverse", "inverted", "inv", "not", "non", "opposite", "one"}) {
    if (small == turns) return true;
  }
  return false;
}

// Returns true for words of which less is better, such as those that "brier_score" and
// "error_score" measure.
bool IsWorseWord(std::string_view word) {
  const std::string small = absl::AsciiStrToLower({word.data(), word.size()});
  for (const char* worse :
       {"loss", "error", "err", "perplexity", "ppl", "nll", "mse", "rmse", "mae", "brier", "fid",
        "crps", "distance", "cost", "regret", "anomaly", "wer", "cer", "latency"}) {
    if (small == worse) return true;
  }
  return false;
}

// Returns whether `is` holds for a word of the name before the last.
bool AnyWordBefore(std::string_view name, std::string_view last, bool (*is)(std::string_view)) {
  name.remove_suffix(last.size());
  while (!name.empty()) {
    const size_t end = std::min(name.find_first_of(kBetweenWords), name.size());
    if (is(name.substr(0, end))) return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

}  // namespace

Sampler SamplerOf(const v1::ExperimentSpec& spec) {
  const std::string& method = spec.search().method();
  const std::string& word = method == "asha" ? spec.search().sampler() : method;
  if (method == "pbt") return Sampler::kRandom;
  if (word == "bayes") return Sampler::kBayes;
  if (word == "random" || (method == "asha" && word.empty())) return Sampler::kRandom;
  return Sampler::kGrid;
}

std::string SamplerText(const v1::ExperimentSpec& spec) {
  const v1::Search& search = spec.search();
  if (search.method() != "asha") return absl::StrCat("method ", search.method());
  return absl::StrCat("sampler ", search.sampler().empty() ? "random" : search.sampler());
}

std::string GoalOf(const v1::Search& search) {
  if (!search.goal().empty()) return search.goal();
  std::string_view metric = search.metric();
  // Lightning logs val_loss as val_loss_epoch too, the mean of an epoch, and as val_loss_step.
  for (const std::string_view mean : {"_epoch", "_step"}) {
    if (metric.ends_with(mean)) metric.remove_suffix(mean.size());
  }
  for (const char* better : {"acc", "acc_norm", "accuracy", "score", "f1", "auc"}) {
    if (!EndsInWord(metric, better)) continue;
    const bool unclear =
        AnyWordBefore(metric, better, IsTurnedRound) || AnyWordBefore(metric, better, IsWorseWord);
    return unclear ? "" : "maximize";
  }
  for (const char* worse : {"loss", "error", "perplexity"}) {
    if (!EndsInWord(metric, worse)) continue;
    return AnyWordBefore(metric, worse, IsTurnedRound) ? "" : "minimize";
  }
  return metric.empty() ? "minimize" : "";
}

Ladder LadderOf(const v1::Search& search) {
  Ladder ladder;
  if (search.asha().eta() != 0) ladder.eta = search.asha().eta();
  if (search.asha().rungs() != 0) ladder.rungs = search.asha().rungs();
  if (search.asha().brackets() != 0) ladder.brackets = search.asha().brackets();
  return ladder;
}

Population PopulationOf(const v1::Search& search) {
  Population population;
  if (search.pbt().every() != 0) population.every = search.pbt().every();
  if (search.pbt().quantile() != 0) population.quantile = search.pbt().quantile();
  if (search.pbt().has_resample()) population.resample = search.pbt().resample();
  return population;
}

bool IsPopulation(const v1::ExperimentSpec& spec) { return spec.search().method() == "pbt"; }

uint32_t ReplicatesOf(const v1::ExperimentSpec& spec) {
  return static_cast<uint32_t>(std::max(1, spec.seeds_size()));
}

uint32_t PlannedTrials(const v1::ExperimentSpec& spec) {
  return static_cast<uint32_t>(spec.search().max_trials()) * ReplicatesOf(spec);
}

void AddReplicates(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& values,
                   const std::vector<size_t>& choices, size_t before,
                   google::protobuf::RepeatedPtrField<v1::ExpandedTrial>& trials) {
  const uint32_t replicates = ReplicatesOf(spec);
  for (uint32_t replicate = 0; replicate < replicates; ++replicate) {
    v1::ExpandedTrial& trial = *trials.Add();
    const auto number = static_cast<uint32_t>(before) + replicate + 1;
    trial.set_trial(number);
    *trial.mutable_assignments() = {values.begin(), values.end()};
    if (spec.seeds().empty()) {
      for (const size_t place : choices) trial.add_choices(static_cast<uint32_t>(place));
      continue;
    }
    v1::Assignment& seed = *trial.add_assignments();
    seed.set_path("seed");
    seed.mutable_value()->set_integer(spec.seeds(static_cast<int>(replicate)));
    trial.set_configuration((number - 1) / replicates + 1);
    trial.set_replicate(replicate);
  }
}

uint64_t SearchSeed(const v1::ExperimentSpec& spec) {
  return static_cast<uint64_t>(spec.seeds().empty() ? spec.base().seed() : spec.seeds(0));
}

std::vector<Issue> CheckRange(const Field& field, const v1::Range& range) {
  const std::string where = absl::StrCat("parameters.", field.path);
  std::vector<Issue> issues;
  if (field.type != FieldType::kNumber && field.type != FieldType::kInteger) {
    return {
        {where, "wrong_type", absl::StrCat("'", field.path, "' has no range"), "list its values"}};
  }
  CheckBound(field, absl::StrCat(where, ".min"), range.min(), issues);
  CheckBound(field, absl::StrCat(where, ".max"), range.max(), issues);
  if (!range.scale().empty() && range.scale() != "linear" && range.scale() != "log") {
    issues.push_back({absl::StrCat(where, ".scale"), "unknown_choice",
                      absl::StrCat(where, ".scale must be one of: linear, log"), ""});
  }
  if (issues.empty() && range.has_normal()) issues = CheckNormal(field, range);
  if (!issues.empty()) return issues;
  if (range.min() >= range.max()) {
    return {{absl::StrCat(where, ".max"), "conflict",
             absl::StrCat("'", where, "' has min ", NumberText(range.min()), " and max ",
                          NumberText(range.max()), "; max must be above min"),
             ""}};
  }
  if (range.scale() == "log" && range.min() <= 0) {
    return {{absl::StrCat(where, ".min"), "conflict",
             absl::StrCat("'", where, "' has scale log; its min must be above 0"),
             "the ends are values, not exponents: write 1.0e-5 for -5"}};
  }
  if (range.scale() == "log" && range.min() < 1 / kBoundMost) {
    return {{absl::StrCat(where, ".min"), "out_of_range",
             absl::StrCat("'", where, "' has scale log and min ", NumberText(range.min()),
                          "; with that scale min is at least ", NumberText(1 / kBoundMost)),
             absl::StrCat("raise it to ", NumberText(1 / kBoundMost))}};
  }
  if (range.max() - range.min() < 1 / kBoundMost) {
    return {{absl::StrCat(where, ".max"), "out_of_range",
             absl::StrCat("'", where, "' has min ", NumberText(range.min()), " and max ",
                          NumberText(range.max()), ", which are nearer to each other than ",
                          NumberText(1 / kBoundMost)),
             "widen it, or list its values"}};
  }
  if (range.step() != 0) CheckStep(field, range, where, issues);
  if (issues.empty() && range.has_normal()) issues = CheckMass(field, range);
  return issues;
}

Dimension DimensionOf(const Field& field, const v1::Range& range) {
  Dimension dimension;
  dimension.path = field.path;
  dimension.low = range.min();
  dimension.high = range.max();
  dimension.log = range.scale() == "log";
  dimension.integer = field.type == FieldType::kInteger;
  dimension.step = range.step() == 0 && dimension.integer ? 1 : range.step();
  dimension.kind = dimension.step > 0 ? DimensionKind::kStepped : DimensionKind::kReal;
  if (range.has_normal()) {
    const auto scaled = [&](double number) { return dimension.log ? std::log(number) : number; };
    dimension.normal =
        NormalDraws{scaled(range.normal().centre()), scaled(range.normal().spread())};
  }
  return dimension;
}

absl::StatusOr<Space> SpaceOf(const v1::ExperimentSpec& spec) {
  Space space;
  const ParameterFields fields(spec);
  for (const v1::Parameter& parameter : spec.parameters()) {
    DT_ASSIGN_OR_RETURN(Dimension dimension, DimensionOf(parameter, fields));
    space.dimensions.push_back(std::move(dimension));
  }
  std::sort(space.dimensions.begin(), space.dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return a.path < b.path; });
  DT_RETURN_IF_ERROR(AddNeeds(spec, fields, space));
  return space;
}

std::optional<uint64_t> TargetSteps(const v1::Spec& trial) {
  if (IsProgram(trial)) {
    if (trial.steps() <= 0) return std::nullopt;
    return static_cast<uint64_t>(trial.steps());
  }
  const v1::Train& train = trial.train();
  if (train.max_steps() > 0) return static_cast<uint64_t>(train.max_steps());
  const int64_t sequences = train.global_batch_size();
  const int64_t length = train.seq_len();
  if (train.max_tokens() <= 0 || sequences <= 0 || length <= 0) return std::nullopt;
  if (sequences > train.max_tokens() / length) return 1;
  return static_cast<uint64_t>((train.max_tokens() - 1) / (sequences * length) + 1);
}

uint64_t WarmupSteps(const v1::Spec& trial, uint64_t target_steps) {
  if (IsProgram(trial)) return 0;  // its length is not known
  const v1::Schedule& schedule = trial.schedule();
  if (schedule.warmup_steps() >= 0) return static_cast<uint64_t>(schedule.warmup_steps());
  return BoundedInteger<uint64_t>(
      std::round(schedule.warmup_ratio() * static_cast<double>(target_steps)));
}

}  // namespace dt::spec
