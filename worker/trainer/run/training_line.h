// training_line.h: which checkpoints a training may go on from.
//
// Role:      a hash of the parts of a specification without which the numbers of a checkpoint mean
//            something else. What an edit may change has no part in it: the number of steps, when
//            to validate, save and log, where trials run. Of a population neither has what it
//            changes while it trains: members go on from each other's checkpoints.
// Invariant: checkpoints of versions 0.1.0 and 0.2.0, whose hash had the number of steps in it, are
//            known by that, whatever it was raised to since.
// Threads:   thread-compatible; copies share what they found out.
// Tests:     tests/worker/trainer/run/training_line_test.cc,
//            tests/worker/trainer/run/extend_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "worker/frames/frames.h"

namespace dt::trainer {

class TrainingLine {
 public:
  explicit TrainingLine(const frames::Start& start);

  const std::string& hash() const { return hash_; }
  // By the rule of version 0.2.0, for workers of that version.
  const std::string& old_hash() const { return old_hash_; }
  bool Owns(const checkpoint::Manifest& manifest) const;
  // train.max_steps as it was when an old manifest was written; nothing: it is not of this line, or
  // the number is not among its fields.
  std::optional<int64_t> OldSteps(const checkpoint::Manifest& manifest) const;
  // As the checkpoint room asks.
  checkpoint::Line AsLine() const;

 private:
  std::string hash_, old_hash_;
  nlohmann::json old_kept_;  // what old_hash_ is of
  int64_t max_steps_ = 0;
  std::shared_ptr<std::map<std::string, std::optional<int64_t>>> found_;  // by old hashes
};

}  // namespace dt::trainer
