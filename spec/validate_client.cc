// validate_client.cc: checks an experiment whose trials run in its clients: no field may say how a
// worker runs them.
#include <string>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

// Fields that say where and how a worker runs a program. The coordinator itself sets launcher and
// timeout.report.
constexpr const char* kOfWorkers[] = {"workdir",
                                      "code",
                                      "code_include",
                                      "environment.python",
                                      "environment.uv",
                                      "environment.index",
                                      "environment.image",
                                      "environment.conda",
                                      "environment.module",
                                      "timeout.start",
                                      "timeout.total",
                                      "timeout.stop",
                                      "metrics.pattern",
                                      "metrics.file",
                                      "resources.env",
                                      "resources.labels",
                                      "resources.min_gpus",
                                      "resources.max_gpus",
                                      "resources.accelerator",
                                      "metrics.tensorboard"};

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
  for (const char* path : kOfWorkers) {
    if (!IsExplicit(spec, path) && !IsSwept(spec, path)) continue;
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
