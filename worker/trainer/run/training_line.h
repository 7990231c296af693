// training_line.h: decides which checkpoints a training may continue from.
//
// Role:      a hash of the parts of a specification that give a checkpoint's numbers their meaning.
//            It leaves out what an edit may change: the number of steps, when to validate, save and
//            log, and where trials run. For a population it also leaves out what may change during
//            training, since members continue from each other's checkpoints.
// Invariant: checkpoints of versions 0.1.0 and 0.2.0, whose hash included the number of steps, are
//            still recognised, even if that number was raised since.
// Threads:   thread-compatible; copies share a cache.
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
  // Returns the hash by the rule of version 0.2.0, for workers of that version.
  const std::string& old_hash() const { return old_hash_; }
  bool Owns(const checkpoint::Manifest& manifest) const;
  // Returns train.max_steps as of an old manifest. Returns nothing if the manifest is not of this
  // line, or its number was not found.
  std::optional<int64_t> OldSteps(const checkpoint::Manifest& manifest) const;
  // Returns this line in the form that checkpoint/ takes.
  checkpoint::Lineage AsLineage() const;

 private:
  std::string hash_, old_hash_;
  nlohmann::json old_kept_;  // the content of old_hash_
  int64_t max_steps_ = 0;
  std::shared_ptr<std::map<std::string, std::optional<int64_t>>> found_;  // cache, by old hash
};

}  // namespace dt::trainer
