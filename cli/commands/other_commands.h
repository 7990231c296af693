// other_commands.h: what other tools call our commands, by meaning.
//
// Role:      pure; who types a word of another tool is told the command that does it.
// Invariant: no word is a command of ours in its group, and each has one meaning
//            (tests/cli/commands/other_commands_test.cc).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt::cli {

struct OtherCommand {
  std::string_view group;  // "get"; "": of dtctl itself
  std::string_view words;  // theirs, with spaces between them
  std::string_view ours;   // what to say: "use 'dtctl …'", or a sentence; "": nothing of the kind
};

std::span<const OtherCommand> OtherCommands();
// What to type in place of the unknown `word` of a group of commands. nullopt: nobody has it, and
// it may be a slip.
std::optional<std::string> OtherCommandHint(std::string_view group, std::string_view word);
// The same of an unknown option of a command that has these: "write -o json".
std::optional<std::string> OtherOptionHint(std::string_view option,
                                           std::span<const std::string> known);

}  // namespace dt::cli
