// completion.h: completion of command lines, for shells.
//
// Role:    `dtctl __complete SHELL WORD…` prints candidates, a line each, with a tab and an
//          explanation; ":files" asks the shell for file names. The shells' scripts only call it:
//          all knowledge is in the tree of commands.
// Errors:  none at a TAB key: without an answer nothing is offered. CompletionScript:
//          InvalidArgument with the known shells.
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
  bool files = false;  // file names too
};

// Kind of name that only a coordinator or the user's file knows.
enum class NameSource { kExperiment, kTrial, kExperimentOrTrial, kLabel, kContext, kWorker };
// Looks up names. `typed` is the beginning of the word, and may be ignored. `flags` are the flags
// so far.
using LookUp = std::function<std::vector<Candidate>(NameSource source, const std::string& typed,
                                                    const CoordinatorFlags& flags)>;

// Returns the candidates. `words` exclude the program's name; the last one is being typed and may
// be "".
Candidates Complete(const CommandTree& tree, const std::vector<std::string>& words,
                    const LookUp& look_up);

// Asks the coordinator, and waits at most a second.
std::vector<Candidate> LookUpNames(NameSource source, const std::string& typed,
                                   const CoordinatorFlags& flags, const Terminal& terminal,
                                   const Interrupt& interrupt);

// Runs `dtctl __complete`: `arguments` are the shell and the words.
int RunComplete(const CommandTree& tree, const std::vector<std::string>& arguments,
                const Terminal& terminal, const Interrupt& interrupt);

absl::StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace dt::cli
