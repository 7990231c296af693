// combination.h: rules over several fields that hold for whoever reads a trial: the checks of an
// experiment file, and the trainer.
//
// Role:  pure, and free of protobuf, as the table is. A reader fills in a Combination from what it
//        has. A field that is out of its own range breaks no rule here.
// Tests: tests/spec/validate_test.cc, tests/spec/model_ranks_test.cc,
//        tests/worker/trainer/trial/spec_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::spec {

// Number of trials that must break a rule before it is an issue of an experiment.
enum class Reach { kAnyTrial, kAllTrials };
struct Violation {
  std::string rule;                // stable name, to report it once
  std::vector<std::string> paths;  // fields involved, the likeliest culprit first
  std::string message;
  std::string hint;
  Reach reach = Reach::kAnyTrial;
};

// Values of a trial's fields, under their names. Texts are the words of the experiment file.
struct Combination {
  int64_t n_layer = 0, n_head = 0, n_embd = 0, n_ff = 0, n_positions = 0;
  int64_t vocab_size = 0, vocab_pad = 0;
  std::string_view positions;
  double dropout = 0;
  int64_t seq_len = 0;
  int64_t tensor = 1, pipeline = 1, interleave = 1;
  bool sequence = true;
  std::string_view schedule, strategy, compression, balance;
};

// Each function adds the rules that the combination breaks.
// Sizes of the model.
void CheckModel(const Combination& trial, std::vector<Violation>& out);
// Cuts of each layer among the ranks of parallel.tensor. Leaves the hint empty where a size of a
// layer is not divisible.
void CheckTensor(const Combination& trial, std::vector<Violation>& out);
// Layers of each stage of a pipeline.
void CheckPipeline(const Combination& trial, std::vector<Violation>& out);
// Ranks that parallel.balance deals micro-batches to.
void CheckBalance(const Combination& trial, std::vector<Violation>& out);

// Whether each rank trains a copy of its own under this parallel.strategy.
bool StepsAlone(std::string_view strategy);
// "4 or 8": the multiples of `step` next to `value`.
std::string NearestMultiples(int64_t value, int64_t step);

}  // namespace dt::spec
