// runner_words.h: words that dtprogram writes into a trial's log and that others find there.
#pragma once

namespace dt {

// Begins each of its own lines; lines of the program may begin so too.
inline constexpr char kRunnerPrefix[] = "dtrain: ";
// Ends the line above the processes of a program that hangs.
inline constexpr char kProcessesFollow[] = "; what its processes are doing:";
// Begins the line above the stacks that Python prints itself. The numbers of the processes follow,
// in the order of their stacks.
inline constexpr char kOwnStacks[] = "Python's own stacks are on standard error, of process ";

}  // namespace dt
