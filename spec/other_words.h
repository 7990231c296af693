// other_words.h: what other systems call our fields, by meaning: W&B, Optuna, Ray Tune, Determined,
// Katib, Hydra, training scripts.
//
// Role:      pure; suggest.cc asks here before it looks for a slip.
// Invariant: each word has one meaning, which is a path of ours, a sentence, or "": nothing is
//            proposed then.
// Tests:     tests/spec/other_words_test.cc
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace dt::spec {

struct OtherWord {
  std::string_view theirs;  // "max_slots"; "metric.goal" where the word before it matters; ".kind"
                            // where nothing may stand before it
  std::string_view ours;
};

std::span<const OtherWord> OtherPaths();
// What an unknown path of a file means to other systems, by its last word or words, however it is
// written: maxTrialCount, max_trial_count. nullopt: no system that we know has it.
std::optional<std::string_view> OtherPath(std::string_view path);

}  // namespace dt::spec
