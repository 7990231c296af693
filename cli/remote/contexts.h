// contexts.h: coordinators by name, kept in a person's own file, and which one a command talks to.
//
// Role:    ~/.config/dtrain/config.yaml (XDG_CONFIG_HOME): read, changed, and put beside flags and
//          environment.
// Threads: processes may change the file at the same time: a lock beside it makes them take turns,
//          and a reader finds the old file or the new.
// Errors:  InvalidArgument naming the file and what it holds; NotFound for a context that is not
//          there, with those that are.
// Tests:   tests/cli/remote/contexts_test.cc, tests/cli/commands/context_command_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/remote/client.h"

namespace dt::cli {

struct Context {
  std::string name;
  std::string address;
  TlsFiles tls;
  std::string token_file = {};
};

struct Contexts {
  std::string current;  // "" when none is
  std::vector<Context> list;

  // Errors: NotFound naming the file and the contexts that it has.
  absl::StatusOr<Context> Find(const std::string& name, const std::string& path) const;
  // Replaces the context of that name, or adds it.
  void Put(const Context& context);
  // Returns whether it was there. A current context that goes leaves none.
  bool Remove(const std::string& name);
};

using Variables = std::function<std::string(const std::string&)>;

// "" where neither XDG_CONFIG_HOME nor HOME is set.
std::string ContextsPath(const Variables& environment);
// Letters, digits, '.', '_' and '-', beginning with a letter or digit: also a folder's name.
absl::Status CheckContextName(std::string_view name);

absl::StatusOr<Contexts> ParseContexts(const std::string& text, const std::string& path);
std::string ContextsText(const Contexts& contexts);  // YAML
// No file: no contexts.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);
// A file that is a link stays one: what it points to is changed. `pause` is as AwaitLock's. Errors:
// those of `change`; DeadlineExceeded when another dtctl keeps the file's lock; Cancelled.
absl::Status ChangeContexts(const std::string& path,
                            const std::function<bool(absl::Duration)>& pause,
                            const std::function<absl::Status(Contexts&)>& change);

// What was written on the command line.
struct CoordinatorFlags {
  std::string address;
  std::string context;
  TlsFiles tls;
  std::string token_file = {};
};
// Flags win over the environment, and that over the current context. A context's TLS files are used
// with its own address, or where --context names it: those of another coordinator would be
// refused; and so its token, which another coordinator must not see. Reads the token's file.
absl::StatusOr<ClientOptions> ChooseCoordinator(const CoordinatorFlags& flags,
                                                const Variables& environment);

}  // namespace dt::cli
