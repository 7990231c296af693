// bench_commands.cc: dtctl bench network: an experiment that measures instead of training.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/bar.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/network_text.h"
#include "cli/commands/repeated_call.h"
#include "cli/remote/outage_timer.h"
#include "cli/view/words.h"
#include "common/network_bench.h"
#include "common/status.h"
#include "common/text.h"
#include "spec/file/experiment_file.h"

namespace dt::cli {
namespace {

struct NetworkOptions {
  std::optional<int64_t> gpus;
  std::string device;
  std::string ops, sizes;
  std::optional<int64_t> rounds;
  std::vector<std::string> assignments;
  std::string of;
};

// Returns the experiment as a user would write it.
std::string FileText(const BenchSlots& slots, const NetworkBench& bench) {
  std::vector<std::string> words;
  for (const std::string& word : WordsOf(bench)) words.push_back(QuotedYaml(word));
  return absl::StrCat("version: 1\nname: network\ncommand: [", absl::StrJoin(words, ", "),
                      "]\nresources: {gpus: ", slots.slots, ", device: ", slots.device,
                      "}\nsearch: {metric: bus_bandwidth, goal: maximize}\nretries: {max: 0}\n");
}

absl::StatusOr<NetworkBench> BenchOf(const NetworkOptions& options) {
  std::vector<std::string> words = {std::string(kNetworkBenchWord)};
  if (!options.ops.empty()) words.push_back(absl::StrCat("--ops=", options.ops));
  if (!options.sizes.empty()) words.push_back(absl::StrCat("--sizes=", options.sizes));
  if (options.rounds) words.push_back(absl::StrCat("--rounds=", *options.rounds));
  return ParseNetworkBench(words);
}

// Submits the experiment. Returns its number.
absl::StatusOr<uint64_t> Start(Session& session, Client& client, const NetworkOptions& options) {
  DT_ASSIGN_OR_RETURN(const NetworkBench bench, BenchOf(options));
  if (options.gpus) DT_RETURN_IF_ERROR(CheckAtLeast("--gpus", *options.gpus, 2));
  DT_ASSIGN_OR_RETURN(const auto workers, client.ListWorkers());
  DT_ASSIGN_OR_RETURN(const BenchSlots slots,
                      ChooseBenchSlots(workers, options.device, options.gpus.value_or(0)));
  const spec::ExperimentFile file =
      spec::ReadExperimentFile(FileText(slots, bench), "network.yaml", options.assignments);
  if (!file.diagnostics.empty()) {
    const spec::Diagnostic& first = file.diagnostics.front();
    return absl::InvalidArgumentError(
        absl::StrCat(first.message, first.hint.empty() ? "" : "; ", first.hint));
  }
  v1::SubmitRequest request;
  request.set_request_id(RandomRequestId());
  *request.mutable_spec() = file.spec;
  request.set_file_name("network.yaml");
  request.set_file_text(file.effective_text);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(const v1::SubmitResponse response,
                      CallUntilAnswered(session, [&] { return client.Submit(request); }));
  session.Note(absl::StrCat("experiment ", response.experiment(), ": measuring between ",
                            slots.slots, " ", slots.device, " slots"));
  if (!response.note().empty()) session.Note(absl::StrCat("Note: ", Printable(response.note())));
  return response.experiment();
}

std::string ProgressText(const v1::TrialSummary& trial) {
  if (!trial.waiting().empty()) return absl::StrCat("waits: ", Printable(trial.waiting()));
  return absl::StrCat(FormatRatio(trial.progress()), " measured");
}

// Waits for the end. Returns nothing after Ctrl-C.
absl::StatusOr<std::optional<v1::TrialSummary>> Watch(Session& session, Client& client,
                                                      uint64_t experiment) {
  const auto request = Select<v1::ListTrialsRequest>({false, experiment, 1});
  ProgressBar bar(session);
  OutageTimer outage_timer;
  std::string told;
  while (true) {
    const auto trials = client.ListTrials(request);
    if (session.interrupt().Triggered()) return std::nullopt;
    if (!trials.ok()) {
      DT_RETURN_IF_ERROR(outage_timer.Notice(trials.status()).status());
    } else {
      outage_timer.Answered();
      if (trials->empty()) return absl::NotFoundError("the measurement was deleted");
      const v1::TrialSummary& trial = trials->front();
      if (Ended(trial.state())) return trial;
      bar.Show([&trial](double) { return ProgressText(trial); });
      if (!session.terminal().err_is_tty && trial.waiting() != told) {
        told = trial.waiting();
        if (!told.empty()) session.Note(ProgressText(trial));
      }
    }
    const auto woken = session.interrupt().Wait(session.pace().redraw);
    if (woken == Interrupt::Woken::kByInterrupt) return std::nullopt;
  }
}

absl::StatusOr<std::vector<v1::NetworkFigure>> FiguresOf(Client& client, uint64_t experiment) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment);
  DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, client.ReadMetrics(request));
  std::vector<v1::NetworkFigure> figures;
  for (const v1::EvaluationRow& row : page.evaluations()) {
    if (row.evaluation().has_network()) figures.push_back(row.evaluation().network());
  }
  return figures;
}

absl::StatusOr<ExitCode> ShowFigures(Session& session, Client& client,
                                     const v1::TrialSummary& trial) {
  DT_ASSIGN_OR_RETURN(const auto figures, FiguresOf(client, trial.experiment()));
  v1::ExplainTrialRequest request;
  request.set_experiment(trial.experiment());
  request.set_trial(trial.trial());
  DT_ASSIGN_OR_RETURN(const v1::ExplainTrialResponse explained, client.ExplainTrial(request));
  if (!explained.attempts().empty()) {
    session.Note(MeasuredOn(explained.attempts(explained.attempts_size() - 1)));
  }
  Print(session, NetworkListing(figures));
  if (trial.state() != v1::TRIAL_FINISHED) {
    session.Note(absl::StrCat("experiment ", trial.experiment(), " ", Word(trial.state()),
                              trial.message().empty() ? "" : ": ", Printable(trial.message())));
  }
  return ExitCodeOf(trial.state());
}

absl::StatusOr<ExitCode> Network(Session& session, const NetworkOptions& options) {
  uint64_t experiment = 0;
  if (!options.of.empty()) {
    DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(options.of));
    DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
    DT_ASSIGN_OR_RETURN(const auto found,
                        client->GetExperiment(Select<v1::GetExperimentRequest>(selector)));
    experiment = found.summary().experiment();
    if (!IsNetworkBench(found.spec().base().command())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "experiment ", experiment, " measures no network; 'dtctl bench network' does"));
    }
  }
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  if (experiment == 0) {
    DT_ASSIGN_OR_RETURN(experiment, Start(session, *client, options));
  }
  DT_ASSIGN_OR_RETURN(const auto trial, Watch(session, *client, experiment));
  if (trial.has_value()) return ShowFigures(session, *client, *trial);
  session.Note(absl::StrCat("\nDetached; experiment ", experiment,
                            " goes on. See its figures with 'dtctl bench network --of ", experiment,
                            "', stop it with 'dtctl cancel ", experiment, "'."));
  return ExitCode::kInterrupted;
}

}  // namespace

void AddBenchCommands(CommandTree& tree) {
  CLI::App* group = tree.AddGroup("bench", "Measure what trials will depend on",
                                  "dtctl bench network\n"
                                  "dtctl bench network --gpus 4 --sizes 1M,64M");
  auto options = std::make_shared<NetworkOptions>();
  CLI::App* app =
      tree.Add(group, "network", "Measure how fast slots communicate, and keep it for 'dtctl plan'",
               "dtctl bench network                 # between all idle slots\n"
               "dtctl bench network --gpus 2 --ops all_reduce --sizes 64K,1M,16M\n"
               "dtctl bench network --of 12 -o csv  # what experiment 12 measured");
  CLI::Option* of =
      app->add_option("--of", options->of, "Measure nothing; print what this experiment measured")
          ->option_text("EXP");
  const auto of_a_run = [of](CLI::Option* option, const char* text) {
    of->excludes(option->option_text(text));
    return option;
  };
  of_a_run(app->add_option("--gpus", options->gpus,
                           "Between so many slots [the largest power of two that is idle]"),
           "N");
  tree.SetWords(of_a_run(app->add_option("--device", options->device,
                                         "cuda or cpu [cuda where a worker has one]"),
                         "DEVICE"),
                {"cuda", "cpu"});
  of_a_run(
      app->add_option("--ops", options->ops,
                      "Some of all_reduce, all_gather, reduce_scatter, broadcast and send [all]"),
      "OP,…");
  of_a_run(app->add_option("--sizes", options->sizes, "Bytes of the full buffer [64K,1M,16M,64M]"),
           "SIZE,…");
  of_a_run(app->add_option("--rounds", options->rounds, "How often each is timed [5]"), "N");
  of_a_run(app->add_option("--set", options->assignments,
                           "Change a field of the experiment, such as resources.accelerator=H100; "
                           "may be repeated")
               ->allow_extra_args(false),
           "PATH=VALUE");
  tree.SetCommand(app, {[options](Session& session) { return Network(session, *options); },
                        {Format::kTable, Format::kJson, Format::kYaml, Format::kCsv}});
}

}  // namespace dt::cli
