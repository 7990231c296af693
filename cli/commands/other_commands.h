// other_commands.h: words of other tools, with our commands for the same thing.
//
// Role:      pure. A user who types a word of another tool gets a hint to the right command.
// Invariant: no word is a command of ours in its group, and each has one meaning
//            (tests/cli/commands/other_commands_test.cc).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt::cli {

struct OtherCommand {
  std::string_view group;  // "get"; "": dtctl itself
  std::string_view words;  // of other tools, separated by spaces
  std::string_view ours;   // the hint: "use 'dtctl …'", or a sentence; "": nothing similar here
};

std::span<const OtherCommand> OtherCommands();
// Returns the hint for an unknown `word` in a group of commands; nullopt if no other tool has it,
// so it may be a typing error.
std::optional<std::string> OtherCommandHint(std::string_view group, std::string_view word);
// Returns the hint for an unknown option of a command with these options: "write -o json".
std::optional<std::string> OtherOptionHint(std::string_view option,
                                           std::span<const std::string> known);

}  // namespace dt::cli
