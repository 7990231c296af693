// child.h: the benchmark's dtcoord, in a process of its own.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace dt::bench {

class Child {
 public:
  // Starts it. Call before gRPC starts threads.
  absl::Status Start(const std::string& program, const std::string& folder);
  ~Child() { Stop(); }
  void Stop();  // ends it cleanly
  void Kill();

  const std::string& address() const { return address_; }
  const std::string& http() const { return http_; }
  // Processor time used so far, and memory now and at its peak.
  struct Usage {
    absl::Duration cpu;
    double resident_mib = 0;
    double peak_mib = 0;
  };
  Usage Measure() const;

 private:
  void End(int signal);

  pid_t pid_ = -1;
  std::string address_;
  std::string http_;
};

}  // namespace dt::bench
