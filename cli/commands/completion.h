// completion.h: what may follow on a command line, for shells.
//
// Role:    `dtctl __complete SHELL WORD…` prints candidates, a line each, with a tab and what it
//          is; ":files" asks the shell for file names. The scripts only call it: the tree of
//          commands is the one place that knows what there is.
// Errors:  none are shown at a TAB key: what is not known is not offered. CompletionScript:
//          InvalidArgument naming the shells there are.
// Tests:   tests/cli/commands/completion_test.cc; tests/tools/completion_test.py, in real shells
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/command_tree.h"
#include "cli/remote/contexts.h"

namespace dt::cli {

struct Candidate {
  std::string word;
  std::string about;
};
struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // and names of files
};

// What only a coordinator or a person's file knows.
enum class Thing { kExperiment, kTrial, kExperimentOrTrial, kLabel, kContext, kWorker };
// `typed` is the beginning of the word; answers may ignore it. `flags` are those written so far.
using LookUp = std::function<std::vector<Candidate>(Thing thing, const std::string& typed,
                                                    const CoordinatorFlags& flags)>;

// `words` without the program's name; the last is being typed and may be "".
Candidates Complete(const CommandTree& tree, const std::vector<std::string>& words,
                    const LookUp& look_up);

// Asks the coordinator, for a second at most.
std::vector<Candidate> LookUpThings(Thing thing, const std::string& typed,
                                    const CoordinatorFlags& flags, const Terminal& terminal,
                                    const Interrupt& interrupt);

// Runs `dtctl __complete`: `arguments` are the shell and the words.
int RunComplete(const CommandTree& tree, const std::vector<std::string>& arguments,
                const Terminal& terminal, const Interrupt& interrupt);

absl::StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace dt::cli
