// drains_checker.h: finds workers that were given work in spite of a mark, and workers that were
// put in quarantine through the fault of others: recounted from the records alone.
//
// Role:  pure, slow and simple; shares no code with drain_facts.cc and blame.cc of
//        coordinator/core/facts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "dtrain/v1/record.pb.h"

namespace dt::sim {

namespace v1 = ::dtrain::v1;

class DrainsChecker {
 public:
  // Takes the next durable record. Returns the violation, or "".
  std::string Take(const v1::Record& record);

 private:
  struct Known {
    std::map<std::string, std::string> host_of;  // key: worker
    uint64_t resumed_step = 0;
    int ordinal = 0;
    bool asked = false;
    bool got_on = false;
    bool crashed = false;
    std::string blamed;  // the worker whose end was decisive
    std::string message;
  };
  struct End {
    AttemptId id;
    int begun = 0;
  };

  std::string TakeStart(const v1::AttemptStarted& fact);
  std::string TakeMark(const v1::WorkerMarked& fact);
  void TakeEnd(const v1::AttemptEnded& fact);
  void TakeProgress(const AttemptId& id, Known& attempt);
  void Forget(uint64_t experiment);
  // Returns whether the trial, or its experiment if the trial ran alone, has progressed since
  // without the worker.
  bool WentOn(const std::string& worker, const End& end) const;
  bool IsRefuted(const std::string& worker, const AttemptId& id) const;
  bool IsCleared(const AttemptId& id) const;
  std::vector<AttemptId> Proved(const std::string& worker) const;

  std::map<AttemptId, Known> attempts_;
  std::map<uint64_t, int> begun_;   // number of attempts, by experiment
  std::map<uint64_t, int> newest_;  // the number of each experiment's newest attempt that
                                    // progressed
  std::map<std::string, std::vector<End>> streaks_;
  std::set<std::string> drained_;
  std::map<std::string, std::vector<AttemptId>> quarantined_;  // for these attempts
};

}  // namespace dt::sim
