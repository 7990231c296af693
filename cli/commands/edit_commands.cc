// edit_commands.cc: dtctl pause | resume | set | extend.
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/app.h"
#include "cli/view/format.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct EditOptions {
  std::string selector;
  bool let_run = false;
  std::string change;  // "max_concurrent=8"
  uint32_t max_trials = 0;
};

// Kept with the change, unless a certificate says who it is.
std::string WhoAmI(Session& session) {
  return CleanText(session.terminal().environment("USER"), limits::kWhoBytes);
}

absl::StatusOr<v1::ChangeResponse> Send(Session& session, const std::string& selector,
                                        const v1::ChangeRequest& change) {
  DT_ASSIGN_OR_RETURN(const Selector chosen, session.ChooseExperiment(selector));
  v1::ChangeRequest request = Select<v1::ChangeRequest>(chosen);
  request.MergeFrom(change);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  return client->Change(request);
}

void Print(Session& session, const v1::ChangeResponse& response, const std::string& text) {
  PrintDocument(session, "Changed", ToJson(response),
                absl::StrCat("experiment ", response.experiment(), text, "\n"));
}

absl::StatusOr<ExitCode> Pause(Session& session, const EditOptions& options) {
  v1::ChangeRequest change;
  change.mutable_pause()->set_let_run(options.let_run);
  DT_ASSIGN_OR_RETURN(const v1::ChangeResponse response, Send(session, options.selector, change));
  std::string text = response.changed() ? " is paused" : " was paused already";
  if (response.stopping() > 0) {
    absl::StrAppend(&text, "; ", Plural(response.stopping(), "trial"), " saving and stopping");
  }
  Print(session, response, text);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Resume(Session& session, const EditOptions& options) {
  v1::ChangeRequest change;
  change.mutable_resume();
  DT_ASSIGN_OR_RETURN(const v1::ChangeResponse response, Send(session, options.selector, change));
  Print(session, response, response.changed() ? " goes on" : " was not paused");
  return ExitCode::kOk;
}

absl::StatusOr<v1::ChangeRequest> ChangeIn(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || (name != "max_concurrent" && name != "max_trials")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no change; write max_concurrent=8 or max_trials=100"));
  }
  uint32_t value = 0;
  const std::string number = text.substr(equals + 1);
  if (!absl::SimpleAtoi(number, &value) || value > limits::kTrialsPerExperiment) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is '", number,
                                                   "'; it must be a whole number from 0 to ",
                                                   limits::kTrialsPerExperiment));
  }
  v1::ChangeRequest change;
  if (name == "max_concurrent") change.set_max_concurrent(value);
  if (name == "max_trials") change.set_max_trials(value);
  return change;
}

absl::StatusOr<ExitCode> Apply(Session& session, const std::string& selector,
                               const v1::ChangeRequest& change) {
  DT_ASSIGN_OR_RETURN(const v1::ChangeResponse response, Send(session, selector, change));
  std::string text = ": ";
  if (change.has_max_trials()) {
    absl::StrAppend(&text, Plural(response.trials(), "trial"), " in all");
  } else if (change.max_concurrent() == 0) {
    absl::StrAppend(&text, "any number of trials at once");
  } else {
    absl::StrAppend(&text, "at most ", Plural(change.max_concurrent(), "trial"), " at once");
  }
  if (!response.changed()) absl::StrAppend(&text, ", as before");
  Print(session, response, text);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Set(Session& session, const EditOptions& options) {
  DT_ASSIGN_OR_RETURN(const v1::ChangeRequest change, ChangeIn(options.change));
  return Apply(session, options.selector, change);
}

absl::StatusOr<ExitCode> Extend(Session& session, const EditOptions& options) {
  v1::ChangeRequest change;
  change.set_max_trials(options.max_trials);
  return Apply(session, options.selector, change);
}

}  // namespace

void AddEditCommands(CommandTree& tree) {
  auto pause = std::make_shared<EditOptions>();
  CLI::App* app = tree.Add(&tree.app(), "pause",
                           "Stop starting trials of an experiment; running ones save and wait",
                           "dtctl pause 12\n"
                           "dtctl pause last --let-run   # what trains goes on to its end");
  app->add_option("EXP", pause->selector, "12, or last for the newest")->required();
  app->add_flag("--let-run", pause->let_run, "Let trials that train go on");
  tree.OnRun(app, {[pause](Session& s) { return Pause(s, *pause); }, kDocumentFormats});

  auto resume = std::make_shared<EditOptions>();
  app = tree.Add(&tree.app(), "resume",
                 "Let a paused experiment go on, its trials from their newest checkpoints",
                 "dtctl resume 12");
  app->add_option("EXP", resume->selector, "12, or last for the newest")->required();
  tree.OnRun(app, {[resume](Session& s) { return Resume(s, *resume); }, kDocumentFormats});

  auto set = std::make_shared<EditOptions>();
  app = tree.Add(&tree.app(), "set", "Change an experiment that is submitted already",
                 "dtctl set 12 max_concurrent=8\n"
                 "dtctl set last max_concurrent=0   # no limit\n"
                 "dtctl set last max_trials=100");
  app->add_option("EXP", set->selector, "12, or last for the newest")->required();
  app->add_option("CHANGE", set->change, "max_concurrent=N or max_trials=N")->required();
  tree.OnRun(app, {[set](Session& s) { return Set(s, *set); }, kDocumentFormats});

  auto extend = std::make_shared<EditOptions>();
  app = tree.Add(&tree.app(), "extend", "Let a search try more configurations, also after its end",
                 "dtctl extend 12 --max-trials 100");
  app->add_option("EXP", extend->selector, "12, or last for the newest")->required();
  app->add_option("--max-trials", extend->max_trials, "How many to try in all")
      ->required()
      ->option_text("N");
  tree.OnRun(app, {[extend](Session& s) { return Extend(s, *extend); }, kDocumentFormats});
}

}  // namespace dt::cli
