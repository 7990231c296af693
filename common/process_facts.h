// process_facts.h: facts of another process, from the kernel.
//
// Threads: any.
// Errors:  none: of a process that has ended, every fact is empty.
// Source:  proc(5), /proc/PID/comm and /proc/PID/status.
// Tests:   tests/common/process_facts_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace dt {

// Returns the name that it has in lists of processes.
std::string ProcessName(pid_t pid);
// Returns the text of a line of its status, such as "NSpid", without blanks around it.
std::string ProcessFact(pid_t pid, std::string_view line);
// Returns whether a mask of its status, such as "SigPnd", has the signal.
bool HasSignal(pid_t pid, std::string_view mask, int signal);

}  // namespace dt
