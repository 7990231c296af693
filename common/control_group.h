// control_group.h: a control group of the kernel around what this process starts, so that all of it
// is killed at one instant, however fast it forks.
//
// Role:      beside descendants.h, which finds processes one by one and needs no right.
//            A group needs version 2 and a folder that this process may write, as systemd gives
//            with Delegate=yes and a container as root.
// Ownership: the group's folder, which goes with it once nobody is within.
// Threads:   one; the whole process is within while a Within lives.
// Errors:    none: where the system refuses there is no group.
// Source:    the kernel's Documentation/admin-guide/cgroup-v2.rst.
// Tests:     tests/common/control_group_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace dt {

// The folder of this process's own group; nothing: none of version 2 is to be seen.
std::optional<std::string> OwnControlGroup();

// Kills what is within the groups below `own` whose makers are gone, and removes those that are
// empty: of a program that outlived both its dtprogram and its dtworker.
void EndAbandonedGroups(const std::string& own);

class ControlGroup {
 public:
  // A new one below `own`, named by this process; null where that is refused. Abandoned ones are
  // ended before.
  static std::unique_ptr<ControlGroup> MakeBelow(const std::string& own);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // What this process starts meanwhile begins in the group.
  class Within {
   public:
    explicit Within(ControlGroup* group);  // null: nothing happens
    ~Within();
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    ControlGroup* const group_;
  };

  // SIGKILL to all within, and to who joins meanwhile. Returns how many were seen there. Reaping
  // is left to their parents.
  int Kill();

 private:
  ControlGroup(std::string own, std::string folder);

  const std::string own_, folder_;
  bool holds_us_ = false;
};

}  // namespace dt
