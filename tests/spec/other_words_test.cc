// other_words_test.cc: other systems' words get an answer with our word of the same meaning, or
// none.
#include "spec/other_words.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

std::string Folded(std::string_view word) {
  std::string folded;
  for (const char c : word) {
    if (c != '_' && c != '-') folded += absl::ascii_tolower(c);
  }
  return folded;
}

bool MayStand(std::string_view path) {
  for (const std::string& word : TopWords()) {
    if (word == path) return true;
  }
  return FindField(path) != nullptr || FindExperimentField(path) != nullptr || IsSection(path);
}

TEST(OtherWordsTest, EachWordHasOneMeaningWhichAFileMayHave) {
  std::set<std::string> seen;
  for (const OtherWord& one : OtherPaths()) {
    EXPECT_TRUE(seen.insert(Folded(one.theirs)).second) << one.theirs << " twice";
    const bool sentence = one.ours.find(' ') != std::string_view::npos;
    EXPECT_TRUE(one.ours.empty() || sentence || MayStand(one.ours)) << one.theirs;
    EXPECT_FALSE(MayStand(one.theirs) && one.theirs != "steps") << one.theirs << " is ours";
  }
}

TEST(OtherWordsTest, AHintFollowsAWordsMeaningNotItsSpelling) {
  EXPECT_EQ(PathHint("resources.max_slots"), "did you mean 'resources.max_gpus_total'?");
  EXPECT_EQ(PathHint("resources.slots_per_trial"), "did you mean 'resources.gpus'?");
  EXPECT_EQ(PathHint("mode"), "did you mean 'search.goal'?");
  EXPECT_EQ(PathHint("search.mode"), "did you mean 'search.goal'?");
  EXPECT_EQ(PathHint("metric.goal"), "did you mean 'search.goal'?");
  EXPECT_EQ(PathHint("searcher"), "did you mean 'search'?");
  EXPECT_EQ(PathHint("searcher.metric"), "did you mean 'search.metric'?");
  EXPECT_EQ(PathHint("hyperparameters"), "did you mean 'parameters'?");
  EXPECT_EQ(PathHint("max_trials"), "did you mean 'search.max_trials'?");
  EXPECT_EQ(PathHint("early_terminate"), "did you mean 'search.asha'?");
  for (const char* word : {"max_length", "values", "distribution", "log_uniform", "q", "metric",
                           "scheduling", "scheduling.priority", "objective", "hydra"}) {
    const std::string hint = PathHint(word);
    EXPECT_NE(hint.find(' '), std::string::npos) << word;
    EXPECT_EQ(hint.find("did you mean"), std::string::npos) << word << ": " << hint;
  }
  EXPECT_NE(PathHint("scheduling.priority").find("larger numbers go first"), std::string::npos);
}

TEST(OtherWordsTest, AWordOfSeveralSectionsIsReadByItsSection) {
  EXPECT_EQ(PathHint("search.name"), "did you mean 'search.method'?");
  EXPECT_EQ(PathHint("optimizer.name"), "did you mean 'optimizer.type'?");
  EXPECT_EQ(PathHint("schedule.name"), "did you mean 'schedule.type'?");
  EXPECT_EQ(PathHint("model.name"), "");
  EXPECT_EQ(PathHint("model.type"), "");
  EXPECT_EQ(PathHint("train.devices"), "did you mean 'resources.gpus'?");
  EXPECT_EQ(PathHint("trainer.accelerator"), "did you mean 'resources.device'?");
  EXPECT_EQ(PathHint("trainer.accumulate_grad_batches"), "did you mean 'train.global_batch_size'?");
  EXPECT_EQ(PathHint("trainer.val_check_interval"), "did you mean 'eval.every'?");
  EXPECT_EQ(PathHint("seed_everything"), "did you mean 'seed'?");
  EXPECT_EQ(PathHint("params"), "did you mean 'parameters'?");
  EXPECT_EQ(PathHint("optimizer.params"), "");
  for (const char* word : {"model._target_", "optimizer._target_", "optimizer.class_path",
                           "scheduler", "stop.training_iteration", "storage_path"}) {
    const std::string hint = PathHint(word);
    EXPECT_NE(hint.find(' '), std::string::npos) << word;
    EXPECT_EQ(hint.find("did you mean"), std::string::npos) << word << ": " << hint;
  }
}

TEST(OtherWordsTest, TheSpellingOfAWordDoesNotMatter) {
  for (const char* word :
       {"maxTrialCount", "max_trial_count", "max-trial-count", "MaxTrialCount"}) {
    EXPECT_EQ(PathHint(word), "did you mean 'search.max_trials'?") << word;
  }
}

TEST(OtherWordsTest, AWordWithoutAnEquivalentGetsNoHint) {
  for (const char* word : {"image", "num_workers", "shm_size", "defaults", "storage"}) {
    EXPECT_EQ(PathHint(word), "") << word;
  }
}

TEST(OtherWordsTest, ATypingMistakeIsCorrectedAndAnotherWordIsNot) {
  EXPECT_EQ(PathHint("resources.max_gpu"), "did you mean 'resources.max_gpus'?");
  EXPECT_EQ(PathHint("trian.batchsize"), "did you mean 'train.batch_size'?");
  EXPECT_EQ(PathHint("naem"), "did you mean 'name'?");
  for (const char* word : {"nose", "mood", "core", "resources.min_slots", "optimizer.xy"}) {
    EXPECT_EQ(PathHint(word), "") << word;
  }
}

TEST(OtherWordsTest, AFileWithAScriptIsNotAskedForData) {
  for (const Issue& issue : Validate(v1::ExperimentSpec())) {
    if (issue.path != "data.train") continue;
    EXPECT_NE(issue.hint.find("write command: [python3, train.py]"), std::string::npos)
        << issue.hint;
    return;
  }
  FAIL() << "data.train is not missing";
}

}  // namespace
}  // namespace dt::spec
