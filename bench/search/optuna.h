// optuna.h: runs Optuna in a Python process over pipes (optuna_peer.py), so that it gets the same
// problems, noise and durations as our search.
//
// Ownership: the destructor ends the process.
// Errors:    a peer that dies ends the benchmark, with its message on standard error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/search/goals.h"
#include "bench/search/runs.h"

namespace dt::bench {

class Optuna {
 public:
  // Returns nullptr if `python` cannot import Optuna; reports that on standard error.
  static std::unique_ptr<Optuna> Start(const std::string& python);
  ~Optuna();
  Optuna(const Optuna&) = delete;
  Optuna& operator=(const Optuna&) = delete;

  const std::string& version() const { return version_; }
  // Begins a study; the last one is forgotten. `sampler`: random, tpe or mtpe. REQUIRES: `problem`
  // and this outlive it.
  Chooser Study(const std::string& sampler, const Problem& problem, uint64_t seed);
  // Begins a study with several objectives or a constraint, by multivariate TPE. The studies after
  // it are of this kind too.
  GoalChooser GoalStudy(GoalProblem problem, uint64_t seed);

 private:
  Optuna() = default;
  void Begin(const std::string& sampler, const spec::Space& space, uint64_t seed);
  spec::Point Ask(uint32_t configuration, size_t dimensions);
  void Say(const std::string& line);
  std::string Answer();

  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  std::string version_;
};

}  // namespace dt::bench
