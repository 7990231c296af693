// context_commands.cc: dtctl context list | use | add | remove: coordinators by name.
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/remote/contexts.h"
#include "cli/view/words.h"
#include "common/address.h"
#include "common/net/token.h"
#include "common/status.h"

namespace dt::cli {
namespace {

std::string PathOf(Session& session) { return ContextsPath(session.terminal().environment); }

// Returns a column of a path, which is in JSON and CSV alone.
template <typename Path>
ListColumn<Context> PathColumn(const char* name, Path path) {
  return {{}, {}, name, [path](const Context& one) {
            return path(one).empty() ? Json(nullptr) : Json(path(one));
          }};
}

ListColumns<Context> ContextColumns(const std::string& current) {
  const auto is_current = [current](const Context& one) { return one.name == current; };
  return {
      {{"CONTEXT"},
       [](const Context& one) { return Cell{one.name}; },
       "id",
       [](const Context& one) { return Json(one.name); }},
      {{"CURRENT"},
       [is_current](const Context& one) {
         return Cell{is_current(one) ? "current" : "", Style::kGood};
       }},
      {{"ADDRESS"},
       [](const Context& one) { return Cell{Printable(one.address)}; },
       "address",
       [](const Context& one) { return Json(one.address); }},
      {{}, {}, "current", [is_current](const Context& one) { return Json(is_current(one)); }},
      {{"TLS"},
       [](const Context& one) { return Cell{one.tls.None() ? kNone : Printable(one.tls.cert)}; }},
      PathColumn("tls_ca", [](const Context& one) { return one.tls.ca; }),
      PathColumn("tls_cert", [](const Context& one) { return one.tls.cert; }),
      PathColumn("tls_key", [](const Context& one) { return one.tls.key; }),
      PathColumn("token_file", [](const Context& one) { return one.token_file; })};
}

absl::StatusOr<ExitCode> ListContexts(Session& session) {
  DT_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(PathOf(session)));
  Listing listing;
  listing.kind = "ContextList";
  listing.empty =
      "No contexts; 'dtctl up' makes one for this machine, 'dtctl context add' names "
      "another coordinator.";
  FillListing(ContextColumns(contexts.current), contexts.list, listing);
  for (const Context& one : contexts.list) listing.names.push_back(one.name);
  Print(session, listing);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> UseContext(Session& session, const std::string& name) {
  const std::string path = PathOf(session);
  DT_RETURN_IF_ERROR(ChangeContexts(path, session.Pause(), [&](Contexts& contexts) {
    const absl::StatusOr<Context> found = contexts.Find(name, path);
    if (found.ok()) contexts.current = name;
    return found.status();
  }));
  session.Note(absl::StrCat("Commands now talk to context '", name, "'."));
  return ExitCode::kOk;
}

// Returns an absolute path: the next command may run in another folder.
std::string Absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

absl::StatusOr<ExitCode> AddContext(Session& session, const std::string& name,
                                    const CommandTree::Shared& shared) {
  DT_RETURN_IF_ERROR(CheckContextName(name));
  if (shared.address.empty()) {
    return absl::InvalidArgumentError(
        "--address is missing; add --address host:port, the coordinator that the name is for");
  }
  DT_ASSIGN_OR_RETURN(const auto addresses, SplitAddresses("--address", shared.address));
  const Context context = {
      name,
      shared.address,
      {Absolute(shared.tls.ca), Absolute(shared.tls.cert), Absolute(shared.tls.key)},
      Absolute(shared.token_file)};
  if (!context.token_file.empty()) {
    DT_RETURN_IF_ERROR(ReadTokenFile("--token-file", context.token_file).status());
  }
  // Reads the files now, while the user can fix them.
  for (const std::string& address : addresses) {
    DT_RETURN_IF_ERROR(MakeChannelCredentials(context.tls, address).status());
  }
  bool known = false;
  bool current = false;
  DT_RETURN_IF_ERROR(ChangeContexts(PathOf(session), session.Pause(), [&](Contexts& contexts) {
    known = contexts.Find(name, "").ok();
    contexts.Put(context);
    if (contexts.current.empty()) contexts.current = name;
    current = contexts.current == name;
    return absl::OkStatus();
  }));
  session.Note(absl::StrCat(
      "Context '", name, "' ", known ? "changed" : "added",
      current ? ", and current."
              : absl::StrCat("; 'dtctl context use ", name, "' makes it the current one.")));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RemoveContext(Session& session, const std::string& name) {
  const std::string path = PathOf(session);
  DT_RETURN_IF_ERROR(ChangeContexts(path, session.Pause(), [&](Contexts& contexts) {
    absl::Status found = contexts.Find(name, path).status();
    if (found.ok()) contexts.Remove(name);
    return found;
  }));
  session.Note(absl::StrCat("Context '", name, "' removed; its coordinator keeps running."));
  return ExitCode::kOk;
}

}  // namespace

void AddContextCommands(CommandTree& tree) {
  CLI::App* group = tree.AddGroup("context", "Name coordinators, and choose among them",
                                  "dtctl context list\n"
                                  "dtctl context use lab");
  CLI::App* app = tree.Add(group, "list", "The coordinators that have a name",
                           "dtctl context list\n"
                           "dtctl context list -o json");
  tree.SetCommand(app, {ListContexts, kListFormats});

  auto used = std::make_shared<std::string>();
  app = tree.Add(group, "use", "Use this coordinator from now on",
                 "dtctl context use lab\n"
                 "dtctl --context lab get workers     # once");
  app->add_option("CONTEXT", *used, "A name, as 'dtctl context list' shows it")->required();
  tree.SetCommand(app, {[used](Session& session) { return UseContext(session, *used); }, {}});

  auto added = std::make_shared<std::string>();
  app = tree.Add(group, "add", "Give a coordinator a name, or change what a name means",
                 "dtctl context add lab --address train.example:7600 --tls-ca ca.crt "
                 "--tls-cert me.crt --tls-key me.key");
  app->add_option("NAME", *added, "The name")->required();
  const CommandTree* whole = &tree;
  tree.SetCommand(app, {[added, whole](Session& session) {
                          return AddContext(session, *added, whole->shared());
                        },
                        {}});

  auto removed = std::make_shared<std::string>();
  app = tree.Add(group, "remove", "Forget a name; the coordinator is not touched",
                 "dtctl context remove lab");
  app->add_option("CONTEXT", *removed, "A name, as 'dtctl context list' shows it")->required();
  tree.SetCommand(app,
                  {[removed](Session& session) { return RemoveContext(session, *removed); }, {}});
}

}  // namespace dt::cli
