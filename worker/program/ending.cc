// ending.cc: see ending.h.
#include "worker/program/ending.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/spawn.h"

namespace dt::program {

Ending EndingOf(int wait_status, Wish wish, Oom oom) {
  constexpr int kShellKilled = 128 + SIGKILL;
  const std::string how = "the program " + DescribeExit(wait_status);
  if (wish != Wish::kGoOn) return {"cancelled", "it was told to stop; " + how};
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return {"finished", ""};
  const bool killed = (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) ||
                      (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kShellKilled);
  if (killed && oom == Oom::kKilledSome) {
    return {"oom", "the kernel killed the program: its memory group was full (oom_kill)"};
  }
  return {"trainer_crash", how};
}

}  // namespace dt::program
