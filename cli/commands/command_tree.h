// command_tree.h: the tree of commands, with the options of each.
//
// Role:  app.h parses with it; completion and the documents' test walk it.
// Tests: tests/cli/commands/command_test.cc
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "cli/remote/session.h"

namespace dt::cli {

struct Command {
  // The closure owns the options, to which the parser refers.
  std::function<absl::StatusOr<ExitCode>(Session&)> run;
  // Formats for -o; the first is the default. Empty: -o is refused.
  std::vector<Format> formats;
};

// The parser, and the action of each of its leaves.
class CommandTree {
 public:
  CommandTree();

  // AddGroup adds a command with subcommands, Add any other. `examples` are complete command lines,
  // one a line, which may end with "  # comment".
  CLI::App* AddGroup(const std::string& name, const std::string& help, const std::string& examples);
  CLI::App* Add(CLI::App* parent, const std::string& name, const std::string& help,
                const std::string& examples);
  void SetCommand(CLI::App* app, Command command) { commands_[app] = std::move(command); }
  // Sets the words that an option or argument accepts, for completion.
  void SetWords(const CLI::Option* option, std::vector<std::string> words) {
    words_[option] = std::move(words);
  }

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  const Command* Find(const CLI::App* app) const;
  // Returns these words; empty: any value is accepted.
  std::vector<std::string> WordsOf(const CLI::Option* option) const;

  // Values of the options that every command takes.
  struct Shared {
    std::string address;
    std::string context;
    TlsFiles tls;
    std::string token_file;
    std::string output;
    bool no_color = false;
    bool no_input = false;
    bool quiet = false;
  };
  const Shared& shared() const { return shared_; }

 private:
  CLI::App app_;
  std::map<const CLI::App*, Command> commands_;
  std::map<const CLI::Option*, std::vector<std::string>> words_;
  Shared shared_;
};

// Add the commands, one family each. Each is in the file of its name.
void AddSubmitCommands(CommandTree& tree);
void AddSweepCommand(CommandTree& tree);
void AddImportCommand(CommandTree& tree);
void AddBenchCommands(CommandTree& tree);
void AddGetCommands(CommandTree& tree);
void AddDescribeCommands(CommandTree& tree);
void AddStreamCommands(CommandTree& tree);
void AddFollowCommands(CommandTree& tree);
void AddBestCommand(CommandTree& tree);
void AddImportanceCommand(CommandTree& tree);
void AddTopCommand(CommandTree& tree);
void AddReportCommands(CommandTree& tree);
void AddControlCommands(CommandTree& tree);
void AddEditCommands(CommandTree& tree);
void AddWorkerCommands(CommandTree& tree);
void AddQuotaCommands(CommandTree& tree);
void AddTokenCommands(CommandTree& tree);  // REQUIRES: AddGetCommands
void AddCaCommands(CommandTree& tree);
void AddCheckpointCommands(CommandTree& tree);
void AddCodeCommand(CommandTree& tree);
void AddDataCommands(CommandTree& tree);
void AddFetchCommand(CommandTree& tree, CLI::App* data);  // by AddDataCommands
void AddLocalCommands(CommandTree& tree);
void AddContextCommands(CommandTree& tree);
void AddVersionCommands(CommandTree& tree);
std::unique_ptr<CommandTree> MakeCommandTree();

// Returns "dtctl get trials".
std::string CommandLine(const CLI::App* app);
// Returns the help page of `app`.
std::string HelpText(const CLI::App* app);

}  // namespace dt::cli
