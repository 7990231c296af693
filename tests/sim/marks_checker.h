// marks_checker.h: who was given work and should not have been: drained workers, and those that
// fail what others can do, recounted from the records alone.
//
// Role:  pure, slow and simple; shares no code with coordinator/core/marks.cc.
#pragma once

#include <map>
#include <set>
#include <string>
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
    std::vector<std::string> workers;
    uint64_t resumed_step = 0;
    bool progressed = false;
  };
  struct Streak {
    std::vector<AttemptId> attempts;
    int progress_before = 0;
  };

  std::string TakeStart(const v1::AttemptStarted& fact);
  std::string TakeMark(const v1::WorkerMarked& fact);
  void TakeEnd(const v1::AttemptEnded& fact);
  void TakeProgress(Known& attempt);
  // Why the worker is to be left alone; "": it need not be.
  std::string Against(const std::string& worker) const;

  std::map<AttemptId, Known> attempts_;
  std::map<std::string, Streak> streaks_;
  std::set<std::string> drained_;
  std::set<std::string> quarantined_;
  int progress_ = 0;
};

}  // namespace dt::sim
