#include "report/analysis/differences.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "report/words/format.h"
#include "report/words/summary.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

constexpr size_t kTextsShown = 12;  // a line or two of a table's cell

using Texts = std::vector<std::string>;

void AddOnce(Texts& texts, const std::string& text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

// Sorts the values: their order is that of the trials, which differs by chance.
Texts Sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string Joined(const Texts& texts) {
  if (texts.size() <= kTextsShown) return absl::StrJoin(texts, ", ");
  const std::vector<std::string> shown(texts.begin(), texts.begin() + kTextsShown);
  return absl::StrCat(absl::StrJoin(shown, ", "), ", … (", texts.size(), " in all)");
}

}  // namespace

v1::Spec ResolvedSpec(const Experiment& experiment, const Trial& trial) {
  const auto& assignments = trial.summary.assignments();
  const absl::StatusOr<v1::Spec> resolved =
      spec::ResolveTrial(experiment.found.spec(), {assignments.begin(), assignments.end()});
  return resolved.ok() ? *resolved : experiment.found.spec().base();
}

namespace {

std::string TextOf(const spec::Field& field, const v1::Spec& resolved) {
  if (!spec::Concerns(resolved, field)) return kNone;
  const std::string text = spec::FieldText(resolved, field.path);
  return text.empty() || text == "{}" ? kNone : text;
}

std::vector<v1::Spec> ResolvedSpecs(const Experiment& experiment) {
  std::vector<v1::Spec> specs;
  specs.reserve(experiment.trials.size());
  for (const Trial& trial : experiment.trials) specs.push_back(ResolvedSpec(experiment, trial));
  if (specs.empty()) specs.push_back(experiment.found.spec().base());
  return specs;
}

Texts TextsOf(const spec::Field& field, const std::vector<v1::Spec>& specs) {
  Texts texts;
  for (const v1::Spec& one : specs) AddOnce(texts, TextOf(field, one));
  return texts;
}

using Ran = std::function<std::string(const v1::TrialSummary&)>;

Texts TextsOf(const Ran& ran, const Experiment& experiment) {
  Texts texts;
  for (const Trial& trial : experiment.trials) {
    if (std::string text = ran(trial.summary); !text.empty()) AddOnce(texts, text);
  }
  return texts;
}

}  // namespace

std::vector<Difference> DifferencesOf(const std::vector<Experiment>& experiments) {
  std::vector<Difference> differences;
  const auto compare = [&](const std::string& path, const std::vector<Texts>& all) {
    const Texts first = Sorted(all[0]);
    if (std::all_of(all.begin(), all.end(), [&](const Texts& one) { return Sorted(one) == first; }))
      return;
    Difference& difference = differences.emplace_back();
    difference.path = path;
    difference.values.reserve(all.size());
    for (const Texts& one : all) difference.values.push_back(Joined(one));
  };
  for (const spec::Field& field : spec::ExperimentFieldTable()) {
    if (field.path.find('.') == std::string::npos) continue;  // version, name, …
    std::vector<Texts> all;
    all.reserve(experiments.size());
    for (const Experiment& one : experiments) {
      const v1::ExperimentSpec& file = one.found.spec();
      const bool texts = field.type == spec::FieldType::kTexts;
      all.push_back({texts ? absl::StrJoin(spec::GetExperimentTexts(file, field.path), ", ")
                           : spec::ValueText(spec::GetExperimentField(file, field.path))});
    }
    compare(field.path, all);
  }
  std::vector<std::vector<v1::Spec>> resolved;
  resolved.reserve(experiments.size());
  for (const Experiment& one : experiments) resolved.push_back(ResolvedSpecs(one));
  for (const spec::Field& field : spec::FieldTable()) {
    std::vector<Texts> all;
    all.reserve(resolved.size());
    for (const std::vector<v1::Spec>& specs : resolved) all.push_back(TextsOf(field, specs));
    compare(field.path, all);
  }
  const std::vector<std::pair<std::string, Ran>> runs = {
      {"build", [](const auto& trial) { return BuildText(trial.provenance()); }},
      {"LibTorch", [](const auto& trial) { return trial.provenance().torch_version(); }},
      {"device", [](const auto& trial) { return trial.provenance().device_name(); }},
      {"data", [](const auto& trial) { return trial.data_fingerprint(); }}};
  for (const auto& [name, ran] : runs) {
    std::vector<Texts> all;
    all.reserve(experiments.size());
    for (const Experiment& one : experiments) all.push_back(TextsOf(ran, one));
    const bool known =
        std::none_of(all.begin(), all.end(), [](const Texts& texts) { return texts.empty(); });
    if (known) compare(name, all);
  }
  return differences;
}

std::vector<std::string> ResolvedTexts(const Experiment& experiment, const Trial& trial,
                                       const std::vector<std::string>& paths) {
  const v1::Spec resolved = ResolvedSpec(experiment, trial);
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    const auto own = std::find_if(resolved.values().begin(), resolved.values().end(),
                                  [&](const v1::Assignment& one) { return one.path() == path; });
    const spec::Field* field = spec::FindField(path);
    texts.push_back(own != resolved.values().end() ? spec::ValueText(own->value())
                    : field == nullptr             ? kNone
                                                   : TextOf(*field, resolved));
  }
  return texts;
}

}  // namespace dt::report
