// search_fixture.h: searches over a GPT so small that a trial takes a tenth of a second, and their
// decisions in a form in which two runs can be compared.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/training_fixture.h"

namespace dt {

// The contents of a search's experiment file; members are YAML.
struct SearchFile {
  std::string name;
  std::string search;             // in flow style: "{method: bayes, max_trials: 12}"
  std::string seeds = "seed: 7";  // for the draws too: the same file gives the same search
  std::string more = "";          // further top-level lines
  int steps = 54;                 // with eta 3 and 3 rungs, the rungs are at 2, 6 and 18

  std::string Text() const {
    return "version: 1\nname: " + name + "\n" + seeds + "\nsearch: " + search + "\n" +
           "parameters:\n"
           "  optimizer.lr: {min: 1.0e-5, max: 1.0e-1, scale: log}\n"
           "  optimizer.weight_decay: {min: 0, max: 0.3}\n"
           "  model.n_embd: [16, 32, 48]\n" +
           more +
           "resources: {gpus: 1, device: cpu}\n"
           "data: {train: \"text/train_*.bin\", val: \"text/val_*.bin\", tokenizer: byte, "
           "shuffle: true}\n"
           "model: {preset: gpt2, n_layer: 1, n_head: 2, n_ff: 64, n_positions: 32}\n"
           "train: {batch_size: 4, seq_len: 32, max_steps: " +
           std::to_string(steps) +
           "}\nschedule: {warmup_steps: 1}\nprecision: {compute: fp32}\n"
           "eval: {every: 27, batches: 2}\ncheckpoint: {every: 27}\n"
           "retries: {max: 5, backoff: 100ms}\n";
  }
};

// A search of a dozen trials takes a few seconds; machines that run tests are busy.
inline constexpr std::chrono::seconds kSearch{120};

class SearchTest : public TrainingTest {
 protected:
  using Json = nlohmann::json;

  uint64_t SubmitSearch(const SearchFile& file) {
    const std::string path = cluster_.folder().Write(file.name + ".yaml", file.Text());
    const Ran ran = MustDtctl({"submit", path, "--id-only"});
    return strtoull(ran.out.c_str(), nullptr, 10);
  }
  uint64_t RunSearch(const SearchFile& file) {
    const uint64_t experiment = SubmitSearch(file);
    EXPECT_TRUE(experiment != 0 && cluster_.AwaitEnd(experiment, kSearch));
    return experiment;
  }
  std::vector<Json> TrialsOf(uint64_t experiment) {
    const Ran ran = MustDtctl({"get", "trials", std::to_string(experiment), "-o", "json"});
    const Json json = Json::parse(ran.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(json.is_object() && json.contains("items")) << ran.out;
    return json.value("items", std::vector<Json>());
  }
  std::vector<v1::RungStanding> RungsOf(uint64_t experiment) {
    const v1::GetExperimentResponse described = cluster_.Described(experiment);
    return {described.rungs().begin(), described.rungs().end()};
  }
  static std::string Word(const Json& trial, const char* field) { return trial.value(field, ""); }
  static bool StoppedEarly(const Json& trial) { return Word(trial, "cause") == "stopped_early"; }

  // Returns one text for each trial: why it was chosen, its values, how it ended and its result.
  // Leaves out what depends on the clock, and how far a trainer got before it learned that its
  // trial had ended.
  std::vector<std::string> DecisionsOf(uint64_t experiment) {
    std::vector<std::string> decisions;
    for (const Json& trial : TrialsOf(experiment)) {
      Json told = Json::object();
      for (const char* field : {"trial", "assignments", "chosen", "state", "cause", "message",
                                "val_loss", "best_val_loss", "metric_value", "target_steps"}) {
        told[field] = trial.value(field, Json());
      }
      decisions.push_back(told.dump());
    }
    return decisions;
  }
};

}  // namespace dt
