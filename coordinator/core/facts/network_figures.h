// network_figures.h: measurements of the network between ranks, as `dtctl plan` needs them.
//
// Role:    pure. The figures themselves are durable (model/durable.h). This chooses the figures for
//          the messages of a trial on so many slots of a kind.
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
  // Reads the figures of devices of this name. `slots_of_host`: the most slots of one host; larger
  // gangs span several hosts.
  NetworkFigures(const DurableState& state, const std::string& device_name, int64_t slots_of_host);

  int64_t slots_of_host() const { return slots_of_host_; }

  struct Answer {
    double seconds = 0;  // of all messages of a step, without overlap
    std::string from;    // "what experiment 7 measured on 2026-03-01 14:05 UTC"
  };
  // Returns nullopt if one of the messages was not measured between so many ranks; for stages,
  // between so many or more.
  std::optional<Answer> SecondsOf(const plan::ModelSize& model, const plan::StepSize& step,
                                  double bucket_bytes) const;

 private:
  struct Curve {
    plan::MeasuredTimes times;
    ExperimentId newest = 0;
    int64_t wall_ms = 0;
  };
  // Key: whether on several hosts, ranks, operation, whether in shared memory.
  using Key = std::tuple<bool, int64_t, std::string, bool>;
  const Curve* Find(const plan::StepSize& step, const plan::Message& message) const;

  int64_t slots_of_host_ = 0;
  std::map<Key, Curve> curves_;
};

}  // namespace dt
