// marks_checker.h: who was given work and should not have been, and who was put in quarantine for
// what others are to blame for: recounted from the records alone.
//
// Role:  pure, slow and simple; shares no code with coordinator/core/marks.cc and blame.cc.
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

class MarksChecker {
 public:
  // Takes the next record that is durable, and says what does not hold; "": all does.
  std::string Take(const v1::Record& record);

 private:
  struct Known {
    std::map<std::string, std::string> host_of;  // of each worker
    uint64_t resumed_step = 0;
    int ordinal = 0;
    bool asked = false;
    bool got_on = false;
    bool crashed = false;
    std::string blamed;  // the worker whose end decided
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
  // Whether the trial, or where it ran alone its experiment, got on without the worker since.
  bool WentOn(const std::string& worker, const End& end) const;
  bool IsRefuted(const std::string& worker, const AttemptId& id) const;
  bool IsCleared(const AttemptId& id) const;
  std::vector<AttemptId> Proved(const std::string& worker) const;

  std::map<AttemptId, Known> attempts_;
  std::map<uint64_t, int> begun_;   // attempts of each experiment
  std::map<uint64_t, int> newest_;  // ordinal of the newest of each that got on
  std::map<std::string, std::vector<End>> streaks_;
  std::set<std::string> drained_;
  std::map<std::string, std::vector<AttemptId>> quarantined_;  // for these
};

}  // namespace dt::sim
