// rpc_stats.h: counts calls by their outcome, and how long they took.
//
// Threads: thread-safe; counters only grow.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "absl/time/time.h"
#include "coordinator/access/rights.h"
#include "grpcpp/support/status.h"
#include "prometheus/histogram.h"

namespace dt {

inline constexpr std::array<const char*, 17> kCodeNames = {
    "OK",       "Cancelled",      "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

class RpcStats {
 public:
  struct PerMethod {
    std::array<std::atomic<uint64_t>, kCodeNames.size()> handled{};
    prometheus::Histogram handling{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}};
  };

  RpcStats() {
    for (const Right& right : Rights()) {
      if (right.service != "HTTP") methods_[right.method];
    }
  }
  // REQUIRES for all three: `method` is in the table of rights.
  void CountEnd(std::string_view method, grpc::StatusCode code) {
    const auto index = static_cast<size_t>(code);
    if (index < kCodeNames.size()) methods_.at(method).handled[index].fetch_add(1);
  }
  void CountTime(std::string_view method, absl::Duration took) {
    methods_.at(method).handling.Observe(absl::ToDoubleSeconds(took));
  }
  const PerMethod& of(std::string_view method) const { return methods_.at(method); }
  const std::map<std::string_view, PerMethod>& methods() const { return methods_; }

 private:
  std::map<std::string_view, PerMethod> methods_;  // its keys never change
};

}  // namespace dt
