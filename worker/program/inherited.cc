// inherited.cc: see inherited.h.
#include "worker/program/inherited.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/files.h"

namespace dt::program {
namespace {

// An argument of ioprio_get(2), which the C library does not declare.
constexpr int kOfProcess = 1;

}  // namespace

Inherited ReadInherited() {
  Inherited now;
  for (int number = 0; number < RLIMIT_NLIMITS; ++number) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(number), &limit) != 0) continue;
    now.limits.push_back(limit.rlim_cur);
    now.limits.push_back(limit.rlim_max);
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &cores)) now.cores.push_back(core);
    }
  }
  now.nice = getpriority(PRIO_PROCESS, 0);
  now.policy = sched_getscheduler(0);
  now.io_priority = static_cast<int>(syscall(SYS_ioprio_get, kOfProcess, 0));
  now.oom_score = ReadKernelFile("/proc/self/oom_score_adj");
  now.dumped = ReadKernelFile("/proc/self/coredump_filter");
  now.control_groups = ReadKernelFile("/proc/self/cgroup");
  return now;
}

}  // namespace dt::program
