// contexts.h: named coordinators in the user's own file, and the choice of the one for a command.
//
// Role:    reads and changes ~/.config/dtrain/contexts.json (XDG_CONFIG_HOME), and combines it with
//          flags and environment. Up to 0.2 the file was config.yaml beside it: it is read where
//          contexts.json is missing, written anew as contexts.json, and left as it is.
// Threads: several processes may change the file at the same time. A lock beside it makes them take
//          turns, and a reader finds either the old file or the new one.
// Errors:  InvalidArgument with the file and its content; NotFound for a missing context, with the
//          names that exist.
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
  std::string current;  // "" without a current one
  std::vector<Context> list;

  // Returns the context of that name. Errors: NotFound with the file and its contexts.
  absl::StatusOr<Context> Find(const std::string& name, const std::string& path) const;
  // Replaces the context of the same name, or adds it.
  void Put(const Context& context);
  // Removes the context, and returns whether it existed. If it was the current one, none is current
  // afterwards.
  bool Remove(const std::string& name);
};

using Variables = std::function<std::string(const std::string&)>;

// Returns the path of the file; "" where neither XDG_CONFIG_HOME nor HOME is set.
std::string ContextsPath(const Variables& environment);
// Checks a name: letters, digits, '.', '_' and '-', beginning with a letter or digit. It is also a
// folder's name.
absl::Status CheckContextName(std::string_view name);

// Returns the contexts of a file, which is JSON. Errors: InvalidArgument with `path`, and the line
// or the context.
absl::StatusOr<Contexts> ParseContexts(const std::string& text, const std::string& path);
// Returns the contexts of a file of dtctl up to 0.2, which is YAML. Same errors.
absl::StatusOr<Contexts> ParseOldContexts(const std::string& text, const std::string& path);
std::string ContextsText(const Contexts& contexts);  // JSON
// Reads the file, or converts the old one. Returns no contexts where neither exists.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);
// Changes the file, which only the user can read. A link stays a link: its target is changed.
// `pause` is that of AwaitLock.
// Errors: those of `change`; DeadlineExceeded when another dtctl holds the lock; Cancelled.
absl::Status ChangeContexts(const std::string& path,
                            const std::function<bool(absl::Duration)>& pause,
                            const std::function<absl::Status(Contexts&)>& change);

// Flags of the command line.
struct CoordinatorFlags {
  std::string address;
  std::string context;
  TlsFiles tls;
  std::string token_file = {};
};
// Returns the coordinator to use, and reads its token's file. Flags come before the environment,
// and the environment before the current context. TLS files and token of a context are used only
// with its own address, or if --context names it: another coordinator would refuse the files, and
// must not see the token.
absl::StatusOr<ClientOptions> ChooseCoordinator(const CoordinatorFlags& flags,
                                                const Variables& environment);

}  // namespace dt::cli
