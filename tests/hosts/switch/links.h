// links.h: the rules of the ways between hosts, and decisions about each frame on them.
//
// Role:      pure: a rule, the time and drawn numbers give a decision. `Links` keeps the rules of
//            all pairs, each way by itself, and draws.
// Ownership: values only.
// Threads:   none.
// Invariant: the same seed and the same frames on a way give the same losses on it, whatever
//            passes on other ways.
// Tests:     tests/hosts/switch/links_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace dt::hosts {

using Nanoseconds = std::chrono::nanoseconds;

// The state of one way between two hosts. The rule at the start lets everything pass at once.
struct Rule {
  double delay_ms = 0;         // mean
  double jitter_ms = 0;        // at most so much more or less than the mean, evenly drawn
  double loss_percent = 0;     // frames that are dropped
  double reorder_percent = 0;  // frames that skip the delay, so that they overtake earlier ones
  bool cut = false;            // drops every frame

  bool operator==(const Rule&) const = default;
};

// Numbers from 0 to below 1, for one frame.
struct Draws {
  double loss = 0;
  double reorder = 0;
  double jitter = 0;
};

enum class Fate { kDelivered, kLost, kCut };

struct Decision {
  Fate fate = Fate::kDelivered;
  Nanoseconds due{0};      // when it is delivered
  bool overtakes = false;  // earlier frames may be delivered after it
};

// Decides about a frame that arrives `now`. A frame that was not drawn to overtake is due no
// earlier than `last_due`, so jitter alone changes no order.
Decision Decide(const Rule& rule, const Draws& draws, Nanoseconds now, Nanoseconds last_due);

struct Counts {
  uint64_t delivered = 0;
  uint64_t lost = 0;
  uint64_t cut = 0;

  bool operator==(const Counts&) const = default;
};

// All ways between the hosts of a switch.
class Links {
 public:
  explicit Links(uint64_t seed) : seed_(seed) {}

  // Adds a host, or does nothing if it is there.
  void AddHost(const std::string& name);
  // Returns the names in the order in which they came.
  const std::vector<std::string>& hosts() const { return hosts_; }

  // Calls `change` with the rule of each way from `from` to `to`; "*" stands for every host.
  // Errors: InvalidArgument for a name that is not there; then nothing is changed.
  absl::Status Change(const std::string& from, const std::string& to, void (*change)(Rule&, double),
                      double value);
  // Lets everything pass at once on all ways.
  void Clear();

  // Decides about a frame between two different hosts, and counts it.
  Decision Take(size_t from, size_t to, Nanoseconds now);

  const Rule& RuleOf(size_t from, size_t to) { return WayOf(from, to).rule; }
  const Counts& CountsOf(size_t from, size_t to) { return WayOf(from, to).counts; }

 private:
  struct Way {
    Rule rule;
    std::mt19937_64 generator;
    Nanoseconds last_due{0};
    Counts counts;
  };

  Way& WayOf(size_t from, size_t to);
  absl::Status CheckName(const std::string& name) const;

  const uint64_t seed_;
  std::vector<std::string> hosts_;
  std::map<std::pair<size_t, size_t>, Way> ways_;
};

}  // namespace dt::hosts
