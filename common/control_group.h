// control_group.h: a control group of the kernel around the processes that this one starts, so that
// all are killed at one instant, however fast they fork.
//
// Role:      beside descendants.h, which finds processes one by one and needs no right. A group
//            needs version 2 and a folder that this process may write, as systemd gives with
//            Delegate=yes and a container as root.
// Ownership: the group's folder, which is removed with it once it holds no process.
// Threads:   one.
// Errors:    none: if the system refuses, there is no group.
// Source:    the kernel's Documentation/admin-guide/cgroup-v2.rst.
// Tests:     tests/common/control_group_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/unique_fd.h"

namespace dt {

// Returns the folder of this process's own group, or nothing if no group of version 2 is visible.
std::optional<std::string> OwnControlGroup();

// Kills the processes in groups below `own` whose makers are gone, and removes the groups that are
// empty. A program that outlived both its dtprogram and its dtworker leaves such a group. Leaves
// alone the groups of other PID namespaces: whether their makers live cannot be seen from here.
void EndAbandonedGroups(const std::string& own);

class ControlGroup {
 public:
  // Ends abandoned groups, then makes a new one below `own`, named after this process and its PID
  // namespace. Returns null where the system refuses.
  static std::unique_ptr<ControlGroup> MakeBelow(const std::string& own);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // Returns a descriptor of the group's folder: SpawnOptions::control_group.
  int descriptor() const { return descriptor_.get(); }

  // Sends SIGKILL to all processes in the group, and to those that join meanwhile. Returns how many
  // it saw. Their parents have to reap them.
  int Kill();

 private:
  ControlGroup(std::string folder, UniqueFd descriptor);

  const std::string folder_;
  const UniqueFd descriptor_;
};

}  // namespace dt
