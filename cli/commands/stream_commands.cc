// stream_commands.cc: dtctl logs | metrics: what is read page by page and printed as it comes.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands/app.h"
#include "cli/remote/follow.h"
#include "cli/view/format.h"
#include "cli/view/metric_rows.h"
#include "common/status.h"

namespace dt::cli {
namespace {

// Chunks of one answer: 64 of at most limits::kLogChunkBytes fit a message with room to spare.
constexpr int kLogChunksPerPage = 64;

struct LogOptions {
  std::string selector;
  bool follow = false;
  std::optional<int64_t> rank;
};

void PrintChunk(Session& session, const v1::LogLineChunk& chunk) {
  const v1::LogLineChunk::LogChunk& log = chunk.log();
  if (session.format() == Format::kJsonl) {
    Json json = {{"attempt", chunk.attempt()},
                 {"rank", log.rank()},
                 {"time", FormatIso(log.wall_time_ms())},
                 {"text", log.text()},
                 {"dropped_lines", log.dropped_lines()}};
    session.out() << JsonLine(json);
    return;
  }
  const Span prefix = {absl::StrCat("#", chunk.attempt(), " rank ", log.rank(), " | "),
                       Style::kDim};
  std::vector<std::string> texts = absl::StrSplit(log.text(), '\n');
  if (!texts.empty() && texts.back().empty()) texts.pop_back();
  for (const std::string& text : texts) {
    // A terminal gets no escape codes of others; a file gets the bytes.
    const std::string shown = session.terminal().out_is_tty ? Printable(text) : text;
    session.out() << RenderLine({prefix, {shown}}, session.colour()) << "\n";
  }
  if (log.dropped_lines() > 0) {
    const std::string dropped =
        absl::StrCat("(", Plural(log.dropped_lines(), "line"), " left out)");
    session.out() << RenderLine({prefix, {dropped, Style::kWarn}}, session.colour()) << "\n";
  }
}

// Errors: NotFound.
absl::StatusOr<v1::TrialSummary> FetchTrial(Client& client, const Selector& selector) {
  DT_ASSIGN_OR_RETURN(auto trials, client.ListTrials(Select<v1::ListTrialsRequest>(selector)));
  if (!trials.empty()) return std::move(trials.front());
  return absl::NotFoundError(
      absl::StrCat("there is no trial ", selector.trial, "; 'dtctl get trials ",
                   selector.last ? "last" : absl::StrCat(selector.experiment), "' lists them"));
}

// The ranks of a trial are numbered from 0; -1 stands for all. Errors: InvalidArgument, NotFound.
absl::StatusOr<int> ChosenRank(const LogOptions& options, const v1::TrialSummary& trial) {
  if (!options.rank.has_value()) return -1;
  DT_RETURN_IF_ERROR(CheckAtLeast("--rank", *options.rank, 0));
  if (*options.rank < std::max(1, trial.world_size())) return static_cast<int>(*options.rank);
  return absl::NotFoundError(
      absl::StrCat("trial ", TrialName(trial), " has ", Plural(trial.world_size(), "rank"),
                   ", from 0 to ", trial.world_size() - 1, "; there is no rank ", *options.rank));
}

absl::StatusOr<ExitCode> Logs(Session& session, const LogOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, ParseTrial(options.selector));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(v1::TrialSummary trial, FetchTrial(*client, selector));
  v1::ReadLogsRequest request;
  request.set_experiment(trial.experiment());  // "last" is settled
  request.set_trial(trial.trial());
  DT_ASSIGN_OR_RETURN(const int rank, ChosenRank(options, trial));
  request.set_rank(rank);
  request.set_page_size(kLogChunksPerPage);
  const Selector fixed{false, trial.experiment(), trial.trial()};
  bool ended = !options.follow;
  bool printed = false;
  while (true) {
    DT_ASSIGN_OR_RETURN(const v1::ReadLogsResponse page, client->ReadLogs(request));
    printed = printed || !page.chunks().empty();
    for (const v1::LogLineChunk& chunk : page.chunks()) PrintChunk(session, chunk);
    session.out() << std::flush;
    request.set_page_token(page.next_page_token());
    if (!page.at_end()) continue;
    // What the trial wrote before it ended has arrived before its end; one more look shows it.
    if (ended) break;
    DT_ASSIGN_OR_RETURN(trial, FetchTrial(*client, fixed));
    ended = Ended(trial.state());
    if (!ended && session.interrupt().Wait(session.pace().poll) == Interrupt::Woken::kByInterrupt) {
      return ExitCode::kInterrupted;
    }
  }
  if (!printed) {
    session.Note(absl::StrCat("no lines of ", rank < 0 ? "" : absl::StrCat("rank ", rank, " of "),
                              "trial ", TrialName(trial), " are kept"));
  }
  return ExitCode::kOk;
}

struct MetricOptions {
  std::string selector;
  std::vector<std::string> metrics;
  bool all_attempts = false;
};

// As in every JSON of ours: a time is ISO 8601, not a number.
Json WithIsoTime(Json row) {
  const auto found = row.find("wall_time_ms");
  if (found == row.end()) return row;
  row["logged_at"] = TimeJson(found->get<int64_t>());
  row.erase("wall_time_ms");
  return row;
}

absl::StatusOr<ExitCode> Metrics(Session& session, const MetricOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, ParseSelector(options.selector));
  DT_RETURN_IF_ERROR(CheckMetricNames(options.metrics));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  // "last" is settled once: pages must not change experiment on the way.
  v1::ReadMetricsRequest request = Select<v1::ReadMetricsRequest>(selector);
  if (selector.last) {
    DT_ASSIGN_OR_RETURN(const auto found,
                        client->GetExperiment(Select<v1::GetExperimentRequest>(selector)));
    request.set_last(false);
    request.set_experiment(found.summary().experiment());
  }
  request.set_all_attempts(options.all_attempts);
  DT_ASSIGN_OR_RETURN(
      const auto trials,
      client->ListTrials(Select<v1::ListTrialsRequest>({false, request.experiment()})));
  MetricRows rows(request.experiment(), options.metrics,
                  options.all_attempts ? Attempts::kAll : Attempts::kValidOnly, trials);
  const bool csv = session.format() == Format::kCsv;
  bool headed = !csv;
  const auto print = [&](const std::vector<Json>& ready) {
    for (const Json& row : ready) {
      session.out() << (csv ? rows.CsvLine(row) : JsonLine(WithIsoTime(row)));
    }
  };
  DT_RETURN_IF_ERROR(client->ReadAllMetrics(request, [&](const v1::ReadMetricsResponse& page) {
    if (!std::exchange(headed, true)) session.out() << rows.CsvHeader();
    print(rows.Add(page));
  }));
  print(rows.Finish());
  session.out() << std::flush;
  return ExitCode::kOk;
}

}  // namespace

void AddStreamCommands(CommandTree& tree) {
  auto logs = std::make_shared<LogOptions>();
  CLI::App* app = tree.Add(&tree.app(), "logs", "What the trainers of a trial printed",
                           "dtctl logs last/1\n"
                           "dtctl logs 12/3 -f --rank 0");
  app->add_option("TRIAL", logs->selector, "12/3 or last/3")->required();
  app->add_flag("-f,--follow", logs->follow, "Go on until the trial has ended");
  app->add_option("--rank", logs->rank, "Only this rank; all when left out")->option_text("N");
  tree.OnRun(app, {[logs](Session& session) { return Logs(session, *logs); },
                   {Format::kTable, Format::kJsonl}});

  auto metrics = std::make_shared<MetricOptions>();
  app = tree.Add(&tree.app(), "metrics", "Every logged step and evaluation, as CSV or JSON lines",
                 "dtctl metrics last > metrics.csv\n"
                 "dtctl metrics 12/3 --metric loss --metric val_loss\n"
                 "dtctl metrics 12 -o jsonl | jq -c '{trial, step, loss}'");
  app->add_option("SEL", metrics->selector, "12, 12/3, last or last/3")->required();
  tree.SetWords(app->add_option("--metric", metrics->metrics,
                                absl::StrCat("Only this one; may be repeated. There are: ",
                                             absl::StrJoin(MetricNames(), ", ")))
                    ->option_text("NAME")
                    ->allow_extra_args(false),
                MetricNames());
  app->add_flag("--all-attempts", metrics->all_attempts,
                "Also rows that a later attempt made again, marked superseded");
  tree.OnRun(app, {[metrics](Session& session) { return Metrics(session, *metrics); },
                   {Format::kCsv, Format::kJsonl}});
}

}  // namespace dt::cli
