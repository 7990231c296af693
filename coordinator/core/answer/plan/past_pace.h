// past_pace.h: how fast trials were, as far as that tells how fast others will be.
//
// Role:    pure. An estimate says what it comes from: trials of the same model, batch, number of
//          slots and device; else how much arithmetic such devices did for other models; else a
//          part of what the device's maker states; else it is unknown.
// Cost:    looks at limits::kTrialsCompared trials at most, the newest that trained.
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
  std::map<std::string, OfModel> models;  // by what makes a step's time, on the device
  double flops = 0, slot_seconds = 0;     // of all of them
  uint32_t trials = 0;
  std::map<std::string, uint64_t> train_tokens;  // an epoch's, by data.train
  std::map<std::string, uint64_t> val_tokens;    // by data.val
  struct OfProgram {
    double seconds = 0;
    uint32_t trials = 0;
  };
  std::map<std::string, OfProgram> programs;  // whole trials, by command
  struct Traffic {
    double bytes = 0, seconds = 0;  // what a rank sent, as a ring does it, in the last steps
  };
  // On the device, by number of ranks, and whether they share the state: sums and gathers of shards
  // go another way than the all-reduce of whole gradients.
  std::map<std::pair<int64_t, bool>, Traffic> traffic;
};
PastPace PastPaceOf(const State& state, const std::string& device_name);

// What of a resolved specification makes the time of a step.
v1::Spec StepCosts(const v1::Spec& spec);

struct Estimate {
  // What a trial takes that trains to its end, with its validations; negative: unknown.
  double seconds = -1;
  uint64_t steps = 0;         // 0: known when the data are read
  std::string from;           // "12 trials of the same model"; "": unknown
  double step_seconds = -1;   // of one step; negative: unknown
  bool with_sending = false;  // by steps that were taken, what ranks sent included
};
Estimate EstimateOf(const PastPace& past, const v1::Spec& spec, const std::string& device_name);

// REQUIRES: not a program's. `unread_rows`: of the embedding, where the data tell.
plan::ModelSize SizeOf(const v1::Model& model, int64_t unread_rows = 0);
plan::StepSize StepOf(const v1::Spec& spec);
// Whether ranks send less than their gradients, and carry the rest over.
bool Compresses(const v1::Spec& spec);

// What one slot takes, in bytes. Where the vocabulary is known only once the data are read, `bytes`
// is with GPT-2's and `least` with that of bytes.
struct Memory {
  double bytes = 0, least = 0;
};
// Nothing for a program of a person's.
std::optional<Memory> MemoryOf(const v1::Spec& spec);

}  // namespace dt
