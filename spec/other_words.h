// other_words.h: the names that other systems have for our fields, by meaning: W&B, Optuna, Ray
// Tune, Determined, Katib, Hydra, training scripts.
//
// Role:      pure; suggest.cc asks here before it looks for a typing mistake.
// Invariant: each word has one meaning, which is one of our paths, a sentence, or "" to propose
//            nothing.
// Tests:     tests/spec/other_words_test.cc
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace dt::spec {

struct OtherWord {
  std::string_view theirs;  // "max_slots"; "metric.goal" if the word before it matters; ".kind" if
                            // nothing may stand before it
  std::string_view ours;
};

std::span<const OtherWord> OtherPaths();
// Returns the meaning of an unknown path, by its last word or words in any spelling: maxTrialCount,
// max_trial_count. nullopt: no system that we know has it.
std::optional<std::string_view> OtherPath(std::string_view path);

}  // namespace dt::spec
