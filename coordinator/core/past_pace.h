// past_pace.h: how fast trials were, as far as that tells how fast others will be.
//
// Role:    pure. An estimate says what it comes from: trials of the same model, batch and device;
//          else how much arithmetic such devices did for other models; else a part of what the
//          device's maker states; else it is unknown.
// Cost:    looks at limits::kTrialsCompared trials at most, the newest that trained.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "coordinator/core/durable.h"

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
  struct OfProgram {
    double seconds = 0;
    uint32_t trials = 0;
  };
  std::map<std::string, OfProgram> programs;  // whole trials, by command
};
PastPace PastPaceOf(const DurableState& durable, const std::string& device_name);

struct Estimate {
  double seconds = -1;  // of a trial that trains to its end; negative: unknown
  uint64_t steps = 0;   // 0: known when the data are read
  std::string from;     // "12 trials of the same model"; "": unknown
};
Estimate EstimateOf(const PastPace& past, const v1::Spec& spec, const std::string& device_name);

// Of one slot, in bytes. Where the vocabulary is known only once the data are read, `bytes` is with
// GPT-2's and `least` with that of bytes.
struct Memory {
  double bytes = 0, least = 0;
};
// Nothing for a program of a person's.
std::optional<Memory> MemoryOf(const v1::Spec& spec);
// Of its trials that finished, from their start to their end; nothing: none has.
std::optional<double> MeanSecondsOf(const Experiment& experiment);

}  // namespace dt
