// past_pace.h: the speed of past trials, to estimate the speed of others.
//
// Role:    pure. An estimate names its source: trials of the same model, batch, number of slots and
//          device; else the arithmetic that such devices did for other models; else a share of the
//          speed stated by the device's maker; else the estimate is unknown.
// Cost:    reads at most limits::kTrialsCompared trials, the newest that trained.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/core/model/state.h"
#include "plan/cost.h"

namespace dt {

struct PastPace {
  struct OfModel {
    double tokens = 0, seconds = 0;
    uint32_t trials = 0;
  };
  std::map<std::string, OfModel> models;  // by StepCosts, on the device
  double flops = 0, slot_seconds = 0;     // of all models
  uint32_t trials = 0;
  std::map<std::string, uint64_t> train_tokens;  // of an epoch, by data.train
  std::map<std::string, uint64_t> val_tokens;    // by data.val
  struct OfProgram {
    double seconds = 0;
    uint32_t trials = 0;
  };
  std::map<std::string, OfProgram> programs;  // complete trials, by command
  struct Traffic {
    double bytes = 0, seconds = 0;  // sent by a rank, as in a ring, in the last steps
  };
  // On the device, by number of ranks and whether they shard the state: reduce-scatter and
  // all-gather of shards differ from the all-reduce of complete gradients.
  std::map<std::pair<int64_t, bool>, Traffic> traffic;
};
PastPace PastPaceOf(const State& state, const std::string& device_name);

// Returns the part of a resolved specification that decides the time of a step.
v1::Spec StepCosts(const v1::Spec& spec);

struct Estimate {
  // Time of a trial that trains to its end, with its validations; negative: unknown.
  double seconds = -1;
  uint64_t steps = 0;         // 0: unknown until the data are read
  std::string from;           // "12 trials of the same model"; "": unknown
  double step_seconds = -1;   // time of a step; negative: unknown
  bool with_sending = false;  // from past steps, communication included
};
Estimate EstimateOf(const PastPace& past, const v1::Spec& spec, const std::string& device_name);

// Returns the size. `unread_rows`: unused rows of the embedding, if the data show it. REQUIRES: not
// a program.
plan::ModelSize SizeOf(const v1::Model& model, int64_t unread_rows = 0);
plan::StepSize StepOf(const v1::Spec& spec);
// Returns whether ranks send compressed gradients and carry the rest over.
bool Compresses(const v1::Spec& spec);

// Memory of one slot, in bytes. If the vocabulary is unknown until the data are read, `bytes`
// assumes GPT-2's and `least` that of bytes.
struct Memory {
  double bytes = 0, least = 0;
};
// Returns nullopt for a user's program.
std::optional<Memory> MemoryOf(const v1::Spec& spec);

}  // namespace dt
