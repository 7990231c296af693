// supervisor.h: dtworker --all: one agent process per GPU of this host, restarted when it dies.
//
// Role:    starts, restarts and stops agents; holds no stream and no trainer.
// Threads: only the main thread, the only one of this process.
#pragma once

#include <string>
#include <vector>

#include "worker/shell/alive_file.h"

namespace dt {

// Command line of one agent, after the program's name.
struct AgentCommand {
  std::string name;
  std::vector<std::string> arguments;
};

// Runs until SIGTERM or SIGINT, then until all agents have ended, and touches `alive` meanwhile;
// returns the exit status. REQUIRES: BlockWorkerSignals() was called.
int Supervise(const std::string& program, const std::vector<AgentCommand>& commands,
              AliveFile& alive);

}  // namespace dt
