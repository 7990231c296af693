// network_figures.h: what was measured of the network between ranks, as `dtctl plan` asks for it.
//
// Role:    pure. The figures themselves are durable (durable.h); here is which of them tell of the
//          messages of a trial on so many slots of a kind.
// Cost:    looks at all figures of a device, kNetworkFigures at most, once.
// Tests:   tests/coordinator/core/network_figures_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "coordinator/core/model/durable.h"
#include "plan/network.h"

namespace dt {

class NetworkFigures {
 public:
  NetworkFigures() = default;  // none
  // The figures of devices of this name. `slots_of_host`: most that a host has; larger gangs are on
  // several.
  NetworkFigures(const DurableState& state, const std::string& device_name, int64_t slots_of_host);

  int64_t slots_of_host() const { return slots_of_host_; }

  struct Answer {
    double seconds = 0;  // of all messages of a step, nothing hidden
    std::string from;    // "what experiment 7 measured on 2026-03-01 14:05 UTC"
  };
  // Nothing where one of the messages was not measured between so many ranks; of stages, between so
  // many or more.
  std::optional<Answer> SecondsOf(const plan::ModelSize& model, const plan::StepSize& step,
                                  double bucket_bytes) const;

 private:
  struct Curve {
    plan::MeasuredTimes times;
    ExperimentId newest = 0;
    int64_t wall_ms = 0;
  };
  // By whether on several hosts, ranks, operation, and whether in memory that they share.
  using Key = std::tuple<bool, int64_t, std::string, bool>;
  const Curve* Find(const plan::StepSize& step, const plan::Message& message) const;

  int64_t slots_of_host_ = 0;
  std::map<Key, Curve> curves_;
};

}  // namespace dt
