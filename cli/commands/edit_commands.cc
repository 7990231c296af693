// edit_commands.cc: dtctl pause | resume | set | extend | rename | note | label | archive |
// unarchive.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/unsaved.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct EditOptions {
  std::string selector;
  bool let_run = false;
  bool yes = false;
  std::string change;  // "max_concurrent=8"
  uint32_t max_trials = 0;
  int64_t max_steps = 0;
  std::string text;                 // a name or a note
  std::vector<std::string> labels;  // "team=vision", "owner-"
};

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
  if (!options.let_run) {
    DT_ASSIGN_OR_RETURN(const Selector chosen, session.ChooseExperiment(options.selector));
    DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
    DT_RETURN_IF_ERROR(AskAboutUnsaved(session, *client, chosen, StopKind::kSaves,
                                       options.yes ? Confirmation::kYes : Confirmation::kAsks));
  }
  DT_ASSIGN_OR_RETURN(const v1::ChangeResponse response, Send(session, options.selector, change));
  std::string text = response.changed() ? " is paused" : " was paused already";
  if (response.stopping() > 0) {
    absl::StrAppend(&text, "; ", Plural(response.stopping(), "trial"), " told to save and stop");
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

// Field of `dtctl set`, with its bounds.
struct Setting {
  std::string_view name;
  int64_t least = 0;
  int64_t most = 0;
  void (*set)(v1::ChangeRequest& change, int64_t value) = nullptr;
};
constexpr std::array<Setting, 4> kSettings = {{
    {"max_concurrent", 0, limits::kTrialsPerExperiment,
     [](v1::ChangeRequest& change, int64_t value) {
       change.set_max_concurrent(static_cast<uint32_t>(value));
     }},
    {"max_trials", 0, limits::kTrialsPerExperiment,
     [](v1::ChangeRequest& change, int64_t value) {
       change.set_max_trials(static_cast<uint32_t>(value));
     }},
    {"max_gpus_total", 0, limits::kWorkers,
     [](v1::ChangeRequest& change, int64_t value) {
       change.set_max_gpus_total(static_cast<uint32_t>(value));
     }},
    {"priority", -1000, 1000,
     [](v1::ChangeRequest& change, int64_t value) {
       change.set_priority(static_cast<int32_t>(value));
     }},
}};

absl::StatusOr<v1::ChangeRequest> ChangeIn(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto setting = std::find_if(kSettings.begin(), kSettings.end(),
                                    [&name](const Setting& one) { return one.name == name; });
  if (equals == std::string::npos || setting == kSettings.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a change; write max_concurrent=8, max_trials=100, ",
                     "max_gpus_total=16 or priority=5"));
  }
  int64_t value = 0;
  const std::string number = text.substr(equals + 1);
  if (!absl::SimpleAtoi(number, &value) || value < setting->least || value > setting->most) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is '", number,
                                                   "'; it must be an integer from ", setting->least,
                                                   " to ", setting->most));
  }
  v1::ChangeRequest change;
  setting->set(change, value);
  return change;
}

// Returns the new state of the experiment.
std::string NowText(const v1::ChangeRequest& change, const v1::ChangeResponse& response) {
  switch (change.change_case()) {
    case v1::ChangeRequest::kMaxTrials:
      return absl::StrCat(Plural(response.trials(), "trial"), " in all");
    case v1::ChangeRequest::kMaxConcurrent:
      if (change.max_concurrent() == 0) return "any number of trials at once";
      return absl::StrCat("at most ", Plural(change.max_concurrent(), "trial"), " at once");
    case v1::ChangeRequest::kMaxGpusTotal:
      if (change.max_gpus_total() == 0) return "any number of slots at once";
      return absl::StrCat("at most ", Plural(change.max_gpus_total(), "slot"), " at once");
    case v1::ChangeRequest::kPriority:
      return absl::StrCat("priority ", change.priority());
    case v1::ChangeRequest::kMaxSteps:
      return absl::StrCat(change.max_steps(), " steps for each trial that has not finished");
    case v1::ChangeRequest::kName:
      return absl::StrCat("its name is ", Printable(change.name()));
    case v1::ChangeRequest::kNote:
      return change.note().empty() ? "it has no note" : "it has this note";
    case v1::ChangeRequest::kLabels:
      return "it has these labels";
    case v1::ChangeRequest::kArchived:
      return change.archived() ? "archived; get experiments --archived shows it" : "in lists again";
    case v1::ChangeRequest::kPause:
    case v1::ChangeRequest::kResume:
    case v1::ChangeRequest::CHANGE_NOT_SET:
      break;
  }
  return "";
}

absl::StatusOr<ExitCode> Apply(Session& session, const std::string& selector,
                               const v1::ChangeRequest& change) {
  DT_ASSIGN_OR_RETURN(const v1::ChangeResponse response, Send(session, selector, change));
  std::string text = absl::StrCat(": ", NowText(change, response));
  if (!response.changed()) absl::StrAppend(&text, ", as before");
  if (response.stopping() > 0) {
    absl::StrAppend(&text, "; ", Plural(response.stopping(), "trial"),
                    " saving, to go on from there");
  }
  Print(session, response, text);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Set(Session& session, const EditOptions& options) {
  DT_ASSIGN_OR_RETURN(const v1::ChangeRequest change, ChangeIn(options.change));
  return Apply(session, options.selector, change);
}

absl::StatusOr<ExitCode> Extend(Session& session, const EditOptions& options) {
  if ((options.max_trials > 0) == (options.max_steps > 0)) {
    return absl::InvalidArgumentError(
        "extend by what? give --max-trials N, or --max-steps N, above 0, and not both");
  }
  v1::ChangeRequest change;
  if (options.max_trials > 0) change.set_max_trials(options.max_trials);
  if (options.max_steps > 0) change.set_max_steps(options.max_steps);
  return Apply(session, options.selector, change);
}

absl::StatusOr<ExitCode> Label(Session& session, const EditOptions& options) {
  v1::ChangeRequest change;
  for (const std::string& text : options.labels) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos && text.size() > 1 && text.back() == '-') {
      change.mutable_labels()->add_removed(text.substr(0, text.size() - 1));
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("label '", Printable(text), "' is neither key=value nor key-; write ",
                       "team=vision to set one, team- to take it away"));
    }
    v1::Label& label = *change.mutable_labels()->add_set();
    label.set_key(text.substr(0, equals));
    label.set_value(text.substr(equals + 1));
  }
  return Apply(session, options.selector, change);
}

using ChangeOf = std::function<absl::StatusOr<ExitCode>(Session&, const EditOptions&)>;
// Adds a command that changes an experiment by its options.
std::pair<CLI::App*, std::shared_ptr<EditOptions>> AddEdit(CommandTree& tree,
                                                           const std::string& name,
                                                           const std::string& help,
                                                           const std::string& examples,
                                                           ChangeOf change) {
  auto options = std::make_shared<EditOptions>();
  CLI::App* app = tree.Add(&tree.app(), name, help, examples);
  app->add_option("EXP", options->selector, "12, or last for the newest")->required();
  tree.SetCommand(
      app, {[options, change](Session& s) { return change(s, *options); }, kDocumentFormats});
  return {app, options};
}

void AddWordCommands(CommandTree& tree) {
  auto [rename, name] =
      AddEdit(tree, "rename", "Give an experiment another name", "dtctl rename 12 warmup-sweep",
              [](Session& session, const EditOptions& options) {
                v1::ChangeRequest change;
                change.set_name(options.text);
                return Apply(session, options.selector, change);
              });
  rename->add_option("NAME", name->text, "The new name")->required();

  auto [note, text] = AddEdit(tree, "note", "Write a note on an experiment",
                              "dtctl note 12 'the learning rate was too high'\n"
                              "dtctl note 12 ''   # takes it away",
                              [](Session& session, const EditOptions& options) {
                                v1::ChangeRequest change;
                                change.set_note(options.text);
                                return Apply(session, options.selector, change);
                              });
  note->add_option("TEXT", text->text, "The note; empty takes it away")->required();

  auto [label, labels] =
      AddEdit(tree, "label", "Set labels of an experiment, or take them away",
              "dtctl label 12 team=vision paper=yes\n"
              "dtctl label 12 paper-   # takes it away",
              [](Session& s, const EditOptions& options) { return Label(s, options); });
  label->add_option("LABEL", labels->labels, "key=value, or key- to take it away")->required();

  for (const bool archived : {true, false}) {
    AddEdit(tree, archived ? "archive" : "unarchive",
            archived ? "Leave an ended experiment out of lists"
                     : "Show an archived experiment in lists again",
            archived ? "dtctl archive 12\ndtctl get experiments --archived" : "dtctl unarchive 12",
            [archived](Session& session, const EditOptions& options) {
              v1::ChangeRequest change;
              change.set_archived(archived);
              return Apply(session, options.selector, change);
            });
  }
}

}  // namespace

void AddEditCommands(CommandTree& tree) {
  auto [pause, pausing] =
      AddEdit(tree, "pause", "Stop starting trials of an experiment; running ones save and wait",
              "dtctl pause 12\n"
              "dtctl pause last --let-run   # what trains goes on to its end",
              Pause);
  pause->add_flag("--let-run", pausing->let_run, "Let trials that train go on");
  pause->add_flag("-y,--yes", pausing->yes, "Do not ask where steps would be lost");

  AddEdit(tree, "resume", "Let a paused experiment go on, its trials from their newest checkpoints",
          "dtctl resume 12", Resume);

  auto [set, setting] = AddEdit(tree, "set", "Change an experiment that is submitted already",
                                "dtctl set 12 max_concurrent=8\n"
                                "dtctl set last max_concurrent=0   # no limit\n"
                                "dtctl set last max_trials=100\n"
                                "dtctl set last max_gpus_total=16\n"
                                "dtctl set last priority=5",
                                Set);
  CLI::Option* change =
      set->add_option("CHANGE", setting->change,
                      "max_concurrent=N, max_trials=N, max_gpus_total=N or priority=N")
          ->required();
  std::vector<std::string> words;
  for (const Setting& one : kSettings) words.push_back(absl::StrCat(std::string(one.name), "="));
  tree.SetWords(change, words);

  auto [extend, more] =
      AddEdit(tree, "extend",
              "Let a search try more configurations, or trials that have not finished train longer",
              "dtctl extend 12 --max-trials 100   # of a search, also after its end\n"
              "dtctl extend 12 --max-steps 20000",
              Extend);
  extend->add_option("--max-trials", more->max_trials, "How many to try in all")->option_text("N");
  extend
      ->add_option("--max-steps", more->max_steps,
                   "Steps of each trial; needs schedule.type constant once one has started")
      ->option_text("N");
  AddWordCommands(tree);
}

}  // namespace dt::cli
