// control_commands.cc: dtctl cancel | retry | delete.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/unsaved.h"
#include "cli/remote/follow.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

struct CancelOptions {
  std::string selector;
  std::string reason = "dtctl cancel";
  bool yes = false;
};

// Returns the name of the chosen experiment or trial; trial 0 means the complete experiment.
std::string NameOf(uint64_t experiment, uint32_t trial) {
  return trial == 0 ? absl::StrCat("experiment ", experiment)
                    : absl::StrCat("trial ", experiment, "/", trial);
}

absl::StatusOr<ExitCode> Cancel(Session& session, const CancelOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
  v1::CancelRequest request = Select<v1::CancelRequest>(selector);
  request.set_reason(options.reason);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_RETURN_IF_ERROR(AskAboutUnsaved(session, *client, selector, StopKind::kKills,
                                     options.yes ? Confirmation::kYes : Confirmation::kAsks));
  DT_ASSIGN_OR_RETURN(const v1::CancelResponse response, client->Cancel(request));
  const std::string what = NameOf(response.experiment(), selector.trial);
  PrintDocument(session, "Cancelled", ToJson(response),
                response.trials() == 0 ? absl::StrCat(what, " had ended already\n")
                                       : absl::StrCat(what, ": cancelling ",
                                                      Plural(response.trials(), "trial"), "\n"));
  return ExitCode::kOk;
}

struct RetryOptions {
  std::string selector;
  bool failed = false;
  bool cancelled = false;
};

absl::StatusOr<ExitCode> Retry(Session& session, const RetryOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
  const bool chosen = options.failed || options.cancelled;
  const bool named = selector.trial != 0;  // the name has the trial already
  if (!chosen && !named) {
    return absl::InvalidArgumentError(
        "choose which trials: add --failed, --cancelled, or both; finished ones never run again");
  }
  v1::RetryRequest request = Select<v1::RetryRequest>(selector);
  request.set_failed(options.failed || !chosen);
  request.set_cancelled(options.cancelled || !chosen);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::RetryResponse response, client->Retry(request));
  const std::string what = NameOf(response.experiment(), selector.trial);
  PrintDocument(session, "Retried", ToJson(response),
                response.trials() == 0
                    ? absl::StrCat(what, ": nothing to run again\n")
                    : absl::StrCat(what, ": ", Plural(response.trials(), "trial"),
                                   " waiting to run again\n"));
  return ExitCode::kOk;
}

struct DeleteOptions {
  std::string selector;
  bool yes = false;
};

absl::StatusOr<ExitCode> Delete(Session& session, const DeleteOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(options.selector));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto found,
                      client->GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  const v1::ExperimentSummary& experiment = found.summary();
  if (!Ended(experiment.state())) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.experiment(), " is ", Word(experiment.state()),
                     ", and only ended ones can be deleted; cancel it first with 'dtctl cancel ",
                     experiment.experiment(), "'"));
  }
  if (!options.yes) {
    DT_RETURN_IF_ERROR(session.Confirm(absl::StrCat(
        "Delete experiment ", experiment.experiment(), " '", Printable(experiment.name()),
        "' with ", Plural(experiment.trials(), "trial"), ", their metrics and logs?")));
  }
  v1::DeleteRequest request;
  request.set_experiment(experiment.experiment());
  DT_ASSIGN_OR_RETURN(const v1::DeleteResponse response, client->Delete(request));
  Json fields = Json::object();
  fields["experiment"] = experiment.experiment();
  fields["left_behind"] = Json::array();
  for (const v1::CheckpointSummary& one : response.left_behind()) {
    fields["left_behind"].push_back(CheckpointJson(one));
  }
  PrintDocument(session, "Deleted", fields,
                absl::StrCat("experiment ", experiment.experiment(), " deleted\n"));
  if (response.left_behind_size() > 0 && session.format() == Format::kTable) {
    session.Note("Its checkpoint files stay on the workers' storage until someone removes them:");
    for (const v1::CheckpointSummary& one : response.left_behind()) {
      session.Note(absl::StrCat("  ", Printable(one.checkpoint().path()), "  (storage ",
                                Printable(one.checkpoint().storage_id()), ")"));
    }
  }
  return ExitCode::kOk;
}

}  // namespace

void AddControlCommands(CommandTree& tree) {
  auto cancel = std::make_shared<CancelOptions>();
  CLI::App* app = tree.Add(&tree.app(), "cancel",
                           "Stop an experiment or one trial now; what was recorded stays",
                           "dtctl cancel 12\n"
                           "dtctl cancel 12/3 --reason 'wrong data'");
  app->add_option("SEL", cancel->selector, "12, 12/3, last or last/3")->required();
  app->add_option("--reason", cancel->reason, "Why; kept with the trials")->option_text("TEXT");
  app->add_flag("-y,--yes", cancel->yes, "Do not ask where steps would be lost");
  tree.SetCommand(app, {[cancel](Session& s) { return Cancel(s, *cancel); }, kDocumentFormats});

  auto retry = std::make_shared<RetryOptions>();
  app = tree.Add(&tree.app(), "retry",
                 "Run failed or cancelled trials again, from their newest checkpoint",
                 "dtctl retry last --failed\n"
                 "dtctl retry 12/3      # this one, whichever it did");
  app->add_option("SEL", retry->selector, "12, 12/3, last or last/3")->required();
  app->add_flag("--failed", retry->failed, "Those that failed");
  app->add_flag("--cancelled", retry->cancelled, "Those that were cancelled");
  tree.SetCommand(app, {[retry](Session& s) { return Retry(s, *retry); }, kDocumentFormats});

  auto remove = std::make_shared<DeleteOptions>();
  app = tree.Add(&tree.app(), "delete",
                 "Forget an ended experiment: its trials, metrics and logs; asks first",
                 "dtctl delete 12\n"
                 "dtctl delete 12 --yes   # in a script");
  app->add_option("EXP", remove->selector, "12, or last for the newest")->required();
  app->add_flag("-y,--yes", remove->yes, "Do not ask");
  tree.SetCommand(app, {[remove](Session& s) { return Delete(s, *remove); }, kDocumentFormats});
}

}  // namespace dt::cli
