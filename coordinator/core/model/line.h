// line.h: trials that wait for slots, one line a shape; who of them goes first.
//
// Role:      pure data. In a line stand experiments, by precedence: the larger priority, then the
//            fewer slots held, then the older one. Of an experiment those trials go first that ran
//            before, then the others by number, then the ticket of those to come. An experiment
//            that may start nothing of a shape is closed there: its trials keep their places, at a
//            cost that does not depend on their number.
// Cost:      O(log trials) to insert and erase; O(lines of the experiment × log experiments) when
//            its precedence or gate changes.
// Ownership: an experiment's lines are pointed at by name: nodes of a std::map do not move.
// Tests:     tests/coordinator/core/line_test.cc
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "coordinator/core/model/shape.h"

namespace dt {

enum class Gate { kOpen, kClosed };

// Ticket: stands for the trial that an experiment's search will propose once slots are found. It
// comes after the experiment's waiting trials.
inline constexpr uint32_t kTicket = UINT32_MAX;
inline bool IsTicket(TrialId id) { return id.trial == kTicket; }

// Order of experiments that want slots: the smaller goes first.
struct Precedence {
  int32_t priority = 0;
  uint32_t held = 0;  // slots that its trials hold
  ExperimentId experiment = 0;
  std::strong_ordering operator<=>(const Precedence& other) const {
    if (priority != other.priority) return other.priority <=> priority;
    if (held != other.held) return held <=> other.held;
    return experiment <=> other.experiment;
  }
  bool operator==(const Precedence&) const = default;
};

enum class Again { kNo, kYes };  // whether the trial has run before

class Line {
 public:
  struct FirstTrial {
    Precedence precedence;
    TrialId trial;
    std::strong_ordering operator<=>(const FirstTrial&) const = default;
  };

  void Insert(TrialId trial, Again again, const Precedence& precedence, Gate gate);
  // Returns false if it was not here.
  bool Erase(TrialId trial);
  // REQUIRES: the experiment has something here.
  void Place(const Precedence& precedence, Gate gate);

  bool Contains(TrialId trial) const;
  bool Has(ExperimentId experiment) const { return entries_.contains(experiment); }
  // Returns the first trial of the open experiments.
  std::optional<FirstTrial> First() const;
  // Counts the trials of open experiments before this precedence, tickets included.
  size_t Before(const Precedence& precedence) const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Pool version at which the head did not fit. Nothing was freed since, so nothing would fit.
  std::optional<uint64_t> tried;

 private:
  using WaitingTrial = std::pair<Again, uint32_t>;
  struct LineEntry {
    // Orders trials: those that ran before come first.
    struct First {
      bool operator()(const WaitingTrial& a, const WaitingTrial& b) const {
        if (a.first != b.first) return a.first == Again::kYes;
        return a.second < b.second;
      }
    };
    absl::btree_set<WaitingTrial, First> trials;
    Precedence precedence;
    Gate gate = Gate::kClosed;
  };
  absl::btree_map<ExperimentId, LineEntry> entries_;
  absl::btree_set<Precedence> open_;
  size_t size_ = 0;
};

// All lines, and the lines of each experiment.
class Lines {
 public:
  using Map = std::map<Shape, Line>;
  void Insert(const Shape& shape, TrialId trial, Again again, const Precedence& precedence,
              Gate gate);
  // Returns false if it was not there.
  bool Erase(const Shape& shape, TrialId trial);
  // Updates the place of the experiment in all its lines. `gate`: whether it may start a shape.
  void Place(const Precedence& precedence, const std::function<Gate(const Shape&)>& gate);

  bool Contains(TrialId trial) const;
  bool Contains(const Shape& shape) const { return lines_.contains(shape); }
  const Line* Find(const Shape& shape) const;
  Map::iterator begin() { return lines_.begin(); }
  Map::iterator end() { return lines_.end(); }
  Map::const_iterator begin() const { return lines_.begin(); }
  Map::const_iterator end() const { return lines_.end(); }
  size_t size() const { return lines_.size(); }
  // Returns the experiments with something in a line, by number.
  std::vector<ExperimentId> Experiments() const;

 private:
  Map lines_;
  absl::flat_hash_map<ExperimentId, std::vector<Map::iterator>> of_;
};

}  // namespace dt
