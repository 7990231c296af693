// optuna.h: Optuna in a Python of its own, asked over pipes (optuna_peer.py), so that it is
// measured on the very problems, noise and durations that ours is.
//
// Ownership: ends the process with itself.
// Errors:    a peer that dies ends the benchmark, with its message on standard error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/search/runs.h"

namespace dt::bench {

class Optuna {
 public:
  // nullptr where `python` cannot import it, which it says on standard error.
  static std::unique_ptr<Optuna> Start(const std::string& python);
  ~Optuna();
  Optuna(const Optuna&) = delete;
  Optuna& operator=(const Optuna&) = delete;

  const std::string& version() const { return version_; }
  // Begins a study; the one before is forgotten. `sampler`: random, tpe or mtpe.
  // REQUIRES: `problem` and this outlive it.
  Chooser Study(const std::string& sampler, const Problem& problem, uint64_t seed);

 private:
  Optuna() = default;
  void Say(const std::string& line);
  std::string Answer();

  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  std::string version_;
};

}  // namespace dt::bench
