// version_commands.cc: dtctl version | completion.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/completion.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "common/version.h"

namespace dt::cli {
namespace {

absl::StatusOr<ExitCode> Version(Session& session, bool client_only) {
  Json fields = Json::object();
  fields["client"] = {{"program_version", kVersion}, {"program_revision", kRevision}};
  std::string text = absl::StrCat("dtctl    ", kVersion, " (", kRevision, ")\n");
  absl::Status unreachable;
  if (!client_only) {
    DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
    const absl::StatusOr<v1::GetStatusResponse> status = client->GetStatus();
    if (status.ok()) {
      fields["server"] = ToJson(*status);
      absl::StrAppend(&text, "dtcoord  ", Printable(status->program_version()), " (",
                      Printable(status->program_revision()), ") at ", client->address(), ", since ",
                      FormatLocalTime(status->started_wall_ms()), "\n");
    } else {
      fields["server"] = nullptr;
      unreachable = status.status();
    }
  }
  PrintDocument(session, "Version", fields, text);
  if (!unreachable.ok()) return unreachable;
  return ExitCode::kOk;
}

}  // namespace

void AddVersionCommands(CommandTree& tree) {
  auto client_only = std::make_shared<bool>(false);
  CLI::App* app = tree.Add(&tree.app(), "version", "The versions of dtctl and of the coordinator",
                           "dtctl version\n"
                           "dtctl version --client -o json");
  app->add_flag("--client", *client_only, "This program alone, without asking the coordinator");
  tree.SetCommand(app, {[client_only](Session& session) { return Version(session, *client_only); },
                        kDocumentFormats});

  auto shell = std::make_shared<std::string>();
  app = tree.Add(&tree.app(), "completion",
                 "A script that completes commands, options and experiments in a shell",
                 "source <(dtctl completion bash)\n"
                 "dtctl completion zsh > ~/.zfunc/_dtctl\n"
                 "dtctl completion fish > ~/.config/fish/completions/dtctl.fish");
  tree.SetWords(app->add_option("SHELL", *shell, "bash, zsh or fish")->required(),
                {"bash", "zsh", "fish"});
  tree.SetCommand(app, {[shell](Session& session) -> absl::StatusOr<ExitCode> {
                    DT_ASSIGN_OR_RETURN(const std::string script, CompletionScript(*shell));
                    session.out() << script << std::flush;
                    return ExitCode::kOk;
                  }});
}

}  // namespace dt::cli
