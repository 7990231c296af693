// offline_commands.h: what dtcoord does besides serving: check, backup, admin-token.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace dt {

// The exit code, once what was printed is out: 1 where it could not be written.
int Printed(int code);

class OfflineCommands {
 public:
  // Adds the subcommands to `app`, which must be gone before this is.
  explicit OfflineCommands(CLI::App& app);
  // The exit code of the subcommand that was given, or none where dtcoord is to serve.
  std::optional<int> Run() const;

 private:
  CLI::App* check_;
  CLI::App* backup_;
  CLI::App* admin_;
  std::string journal_, database_file_, state_, output_;
};

}  // namespace dt
