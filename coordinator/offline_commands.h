// offline_commands.h: dtcoord's other commands: check, backup, admin-token.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace dt {

// Returns the exit code once the output is written: 1 if it could not be written.
int Printed(int code);

class OfflineCommands {
 public:
  // Adds the subcommands to `app`, which must be destroyed first.
  explicit OfflineCommands(CLI::App& app);
  // Returns the exit code of the given subcommand, or nullopt if dtcoord is to serve.
  std::optional<int> Run() const;

 private:
  CLI::App* check_;
  CLI::App* backup_;
  CLI::App* admin_;
  std::string journal_, database_file_, state_, output_;
};

}  // namespace dt
