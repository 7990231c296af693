// sweep_command.cc: dtctl sweep: a search over a program's options, without a file.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/submit.h"
#include "cli/commands/sweep_file.h"
#include "common/status.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

// The name of the file that is submitted; it does not exist.
constexpr const char* kFile = "sweep.yaml";

struct Options {
  SweepOptions sweep;
  SubmitOptions submit;
  bool print = false;
};

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// Checks the counts: CLI11's own check names the largest double as the other end.
absl::Status CheckCounts(const SweepOptions& sweep) {
  DT_RETURN_IF_ERROR(CheckAtLeast("--trials", sweep.trials.value_or(1), 1));
  DT_RETURN_IF_ERROR(CheckAtLeast("--steps", sweep.steps.value_or(1), 1));
  DT_RETURN_IF_ERROR(CheckAtLeast("--slots", sweep.slots.value_or(1), 1));
  return CheckAtLeast("--max-concurrent", sweep.max_concurrent.value_or(0), 0);
}

absl::StatusOr<ExitCode> Sweep(Session& session, const Options& options) {
  DT_RETURN_IF_ERROR(CheckCounts(options.sweep));
  DT_ASSIGN_OR_RETURN(std::string text, SweepFile(options.sweep, IsFile));
  SubmitOptions submit = options.submit;
  submit.file = kFile;
  submit.text = std::move(text);
  return options.print ? PrintFile(session, submit) : Submit(session, submit);
}

// Returns the words of search.method.
std::vector<std::string> SearchMethods() {
  const spec::Field* method = spec::FindExperimentField("search.method");
  return method == nullptr ? std::vector<std::string>() : method->choices;
}

// Returns "a, b or c".
std::string Alternatives(std::vector<std::string> words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  const std::string last = words.back();
  words.pop_back();
  return absl::StrCat(absl::StrJoin(words, ", "), " or ", last);
}

void AddSearchOptions(CommandTree& tree, CLI::App* app, SweepOptions& sweep) {
  app->add_option("--param", sweep.parameters,
                  "Values of a parameter: NAME=a..b with :log, :int or :step=S after it, or "
                  "NAME=a,b,c; may be repeated")
      ->option_text("NAME=VALUES")
      ->allow_extra_args(false);
  app->add_option("--trials", sweep.trials, "How many trials; 20 where ranges are searched")
      ->option_text("N");
  app->add_option("--metric", sweep.metric, "Number by which trials are compared, such as val_loss")
      ->option_text("NAME");
  CLI::Option* goal = app->add_option("--goal", sweep.goal,
                                      "minimize or maximize, where the metric's name does not say")
                          ->option_text("GOAL")
                          ->check(CLI::IsMember({"minimize", "maximize"}));
  app->add_flag("--max", sweep.maximize, "The same as --goal maximize")->excludes(goal);
  const std::vector<std::string> methods = SearchMethods();
  CLI::Option* search =
      app->add_option("--search", sweep.search,
                      absl::StrCat(Alternatives(methods), "; else bayes, and grid for lists alone"))
          ->option_text("METHOD")
          ->check(CLI::IsMember(methods));
  app->add_flag(
      "--early-stop", sweep.early_stop,
      "End trials that fall behind: by asha with --steps, else by the median of the others");
  app->add_option("--steps", sweep.steps, "The last step that a complete trial reports")
      ->option_text("N");
  app->add_option("--seeds", sweep.seeds, "Seeds for each configuration: how many, or 1,2,5")
      ->option_text("SEEDS");
  tree.SetWords(goal, {"minimize", "maximize"});
  tree.SetWords(search, methods);
}

void AddProgramOptions(CLI::App* app, SweepOptions& sweep) {
  app->add_option("--pattern", sweep.patterns,
                  "Lines from which the numbers are read, such as 'step {step}: loss {loss}', or "
                  "tqdm or lightning; may be repeated")
      ->option_text("PATTERN")
      ->allow_extra_args(false);
  app->add_option("--metrics-file", sweep.metrics_file,
                  "A CSV or JSON-lines file that the program writes its numbers to")
      ->option_text("FILE");
  app->add_option("--tensorboard", sweep.tensorboard,
                  "A folder that the program writes TensorBoard's files to")
      ->option_text("DIR");
  app->add_option("--gpus,--slots", sweep.slots, "Slots of each trial: GPUs, or CPU slots")
      ->option_text("N");
  app->add_option("--max-concurrent", sweep.max_concurrent,
                  "At most this many trials at once; 0: as many as fit")
      ->option_text("N");
  app->add_option(
         "--code", sweep.code,
         "Folder that is sent along, or none; else this one if the command names a file in "
         "it")
      ->option_text("DIR");
  app->add_option("--env", sweep.variables,
                  "A variable of the program's environment; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  app->add_option("--name", sweep.name, "Name of the experiment; else that of the script")
      ->option_text("NAME");
}

}  // namespace

void AddSweepCommand(CommandTree& tree) {
  auto options = std::make_shared<Options>();
  CLI::App* app = tree.Add(
      &tree.app(), "sweep", "Search over a program's options, without a file",
      "dtctl sweep 'python3 train.py --lr={lr}' --param lr=1e-4..1e-1:log --metric val_loss "
      "--follow\n"
      "dtctl sweep 'python3 train.py ${args}' --param layers=2,4,8 --param opt=adam,sgd --metric "
      "acc\n"
      "dtctl sweep './train {lr}' --param lr=0.1..1 --pattern 'step {step}: loss {loss}'\n"
      "dtctl sweep 'python3 train.py --lr={lr}' --param lr=0.1,1 --print > sweep.yaml   # to edit");
  app->add_option("COMMAND", options->sweep.command,
                  "The program with its arguments, in quotes; {NAME} is a parameter's value, "
                  "${args} all of them")
      ->required();
  AddSearchOptions(tree, app, options->sweep);
  AddProgramOptions(app, options->sweep);
  app->add_option("--set", options->submit.assignments,
                  "Set another field of the file, such as retries.max=1; may be repeated")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  app->add_flag("--print", options->print, "Print the file, and submit nothing");
  app->add_flag("-n,--dry-run", options->submit.dry_run,
                "Let the coordinator check it and print the trials; submit nothing");
  CLI::Option* follow = app->add_flag("--follow", options->submit.follow,
                                      "Watch it until it ends, then show its results");
  CLI::Option* wait = app->add_flag("--wait", options->submit.wait,
                                    "Wait in silence until it ends, as 'dtctl wait' does");
  CLI::Option* id_only = app->add_flag("--id-only", options->submit.id_only,
                                       "Print nothing but the experiment's number");
  follow->excludes(wait)->excludes(id_only);
  tree.SetCommand(app,
                  {[options](Session& session) { return Sweep(session, *options); },
                   {Format::kTable, Format::kJson, Format::kYaml, Format::kCsv, Format::kName}});
}

}  // namespace dt::cli
