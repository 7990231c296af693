// import_command.cc: dtctl import: an experiment file of another tool as one of ours.
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/submit.h"
#include "cli/import/import.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

absl::StatusOr<ExitCode> ImportFile(Session& session, const std::string& path) {
  DT_ASSIGN_OR_RETURN(const std::string text, ReadText(session, path));
  DT_ASSIGN_OR_RETURN(const Imported imported, Import(text, path == "-" ? "stdin" : path));
  session.out() << imported.text << std::flush;
  for (const std::string& warning : imported.warnings) {
    session.Note(absl::StrCat("Warning: ", warning, "."));
  }
  if (imported.problems.empty()) return ExitCode::kOk;
  *session.terminal().err << spec::RenderDiagnostics(imported.problems) << std::flush;
  session.Note(absl::StrCat(Plural(imported.problems.size(), "error"),
                            " to correct in the file that was printed."));
  return ExitCode::kUsage;
}

}  // namespace

void AddImportCommand(CommandTree& tree) {
  auto path = std::make_shared<std::string>();
  CLI::App* app = tree.Add(&tree.app(), "import",
                           "Print a W&B, Determined, Ray Tune, Hydra or Katib file as one of ours",
                           "dtctl import wandb-sweep.yaml > sweep.yaml\n"
                           "dtctl import katib.yaml > sweep.yaml && dtctl validate sweep.yaml");
  app->add_option("FILE", *path, "The other tool's file, or - for stdin")->required();
  tree.SetCommand(app, {[path](Session& session) { return ImportFile(session, *path); }, {}});
}

}  // namespace dt::cli
