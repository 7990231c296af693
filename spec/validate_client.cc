// validate_client.cc: checks an experiment whose trials run in its clients: no field may say how a
// worker runs them.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

// Returns whether the field says where and how a worker runs a program. The coordinator itself sets
// launcher and timeout.report.
bool IsOfWorkers(const Field& field) {
  constexpr std::string_view kOfClients[] = {"command", "run", "steps", "launcher",
                                             "timeout.report"};
  constexpr std::string_view kOfWorkers[] = {"resources.env", "resources.labels",
                                             "resources.min_gpus", "resources.max_gpus",
                                             "resources.accelerator"};
  const auto among = [&field](const auto& paths) {
    return std::find(std::begin(paths), std::end(paths), field.path) != std::end(paths);
  };
  return field.use == Use::kProgram ? !among(kOfClients) : among(kOfWorkers);
}

void Add(const std::string& path, const std::string& message, const std::string& hint,
         std::vector<Issue>& issues) {
  issues.push_back({path, "conflict", message, hint});
}

}  // namespace

void CheckClientTrial(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const auto& command = spec.base().command();
  if (!IsClientTrial(command)) return;
  const std::string word(kClientTrialWord);
  if (command.size() > 2 || (command.size() == 2 && !IsDefineByRun(command))) {
    Add("command", absl::StrCat("command ", word, " has other words after it"),
        absl::StrCat("write command: [", word, "] or [", word, ", ", std::string(kDefineByRunWord),
                     "]"),
        issues);
  }
  for (const Field& field : FieldTable()) {
    const std::string& path = field.path;
    if (!IsOfWorkers(field) || (!IsExplicit(spec, path) && !IsSwept(spec, path))) continue;
    Add(path, absl::StrCat(path, " is for trials on workers, and these run in their clients"),
        "remove it", issues);
  }
  if (spec.base().resources().gpus() > 1 || IsSwept(spec, "resources.gpus")) {
    Add("resources.gpus", "resources.gpus is above 1, and a client runs its trial alone",
        "remove it", issues);
  }
  if (IsPopulation(spec)) {
    Add("search.method", "method pbt needs checkpoints, which a client does not give",
        "use bayes or asha", issues);
  }
  if (!IsDefineByRun(command)) return;
  if (SamplerOf(spec) != Sampler::kBayes) {
    Add("search.method", "define-by-run chooses values from results, one by one",
        "use method: bayes, or method: asha with sampler: bayes", issues);
  }
  const bool fixed = !spec.parameters().empty() || !spec.include().empty() ||
                     !spec.exclude().empty() || !spec.seeds().empty();
  if (!fixed) return;
  Add("parameters",
      "parameters, include, exclude or seeds is set, and define-by-run finds its parameters while "
      "trials run",
      absl::StrCat("remove it, or write command: [", word, "]"), issues);
}

}  // namespace dt::spec::internal
