// stream_commands.cc: dtctl logs | metrics: prints page by page as data comes.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/commands/command_tree.h"
#include "cli/remote/follow.h"
#include "cli/view/metric_rows.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

// Chunks of an answer: 64 of at most limits::kLogChunkBytes fit easily into a message.
constexpr int kLogChunksPerPage = 64;

struct LogOptions {
  std::string selector;
  bool follow = false;
  std::optional<int64_t> rank;
  std::optional<int64_t> tail;
  std::string since;
  std::string grep;
  bool timestamps = false;
};

// Prints the chosen lines: all as they come, or with --tail the last ones that are stored.
class LogPrinter {
 public:
  LogPrinter(Session& session, const LogOptions& options, int64_t since_wall_ms)
      : session_(session), options_(options), since_wall_ms_(since_wall_ms) {}

  void Add(const v1::LogLineChunk& chunk) {
    if (chunk.log().wall_time_ms() < since_wall_ms_) return;
    if (options_.grep.empty() && !options_.tail.has_value()) return Print(chunk);
    v1::LogLineChunk line = chunk;
    line.mutable_log()->set_dropped_lines(0);
    for (const std::string& text : LinesOf(chunk)) {
      if (text.find(options_.grep) == std::string::npos) continue;
      line.mutable_log()->set_text(text + "\n");
      Take(line);
    }
  }
  // Call when all stored lines were added. From then on lines are printed as they come.
  void CaughtUp() {
    caught_up_ = true;
    for (const v1::LogLineChunk& line : last_) Print(line);
    last_.clear();
  }
  bool printed() const { return printed_; }

 private:
  static std::vector<std::string> LinesOf(const v1::LogLineChunk& chunk) {
    std::vector<std::string> texts = absl::StrSplit(chunk.log().text(), '\n');
    if (!texts.empty() && texts.back().empty()) texts.pop_back();
    return texts;
  }

  void Take(const v1::LogLineChunk& line) {
    if (caught_up_ || !options_.tail.has_value()) return Print(line);
    last_.push_back(line);
    if (last_.size() > static_cast<size_t>(*options_.tail)) last_.pop_front();
  }

  void Print(const v1::LogLineChunk& chunk) {
    printed_ = true;
    const v1::LogLineChunk::LogChunk& log = chunk.log();
    if (session_.format() == Format::kJsonl) {
      session_.out() << JsonLine({{"attempt", chunk.attempt()},
                                  {"rank", log.rank()},
                                  {"time", FormatIso(log.wall_time_ms())},
                                  {"text", log.text()},
                                  {"dropped_lines", log.dropped_lines()}});
      return;
    }
    const Span prefix = {
        absl::StrCat(options_.timestamps ? FormatIso(log.wall_time_ms()) + " " : "", "#",
                     chunk.attempt(), " rank ", log.rank(), " | "),
        Style::kDim};
    for (const std::string& text : LinesOf(chunk)) {
      // A terminal gets no foreign escape codes; a file gets all bytes.
      const std::string shown = session_.terminal().out_is_tty ? Printable(text) : text;
      session_.out() << RenderLine({prefix, {shown}}, session_.colour()) << "\n";
    }
    if (log.dropped_lines() > 0) {
      const std::string dropped =
          absl::StrCat("(", Plural(log.dropped_lines(), "line"), " left out)");
      session_.out() << RenderLine({prefix, {dropped, Style::kWarn}}, session_.colour()) << "\n";
    }
  }

  Session& session_;
  const LogOptions& options_;
  const int64_t since_wall_ms_;
  std::deque<v1::LogLineChunk> last_;  // with --tail, until caught up
  bool caught_up_ = false;
  bool printed_ = false;
};

// Fetches the trial. Errors: NotFound.
absl::StatusOr<v1::TrialSummary> FetchTrial(Client& client, const Selector& selector) {
  DT_ASSIGN_OR_RETURN(auto trials, client.ListTrials(Select<v1::ListTrialsRequest>(selector)));
  if (!trials.empty()) return std::move(trials.front());
  return absl::NotFoundError(
      absl::StrCat("there is no trial ", selector.trial, "; 'dtctl get trials ",
                   selector.last ? "last" : absl::StrCat(selector.experiment), "' lists them"));
}

// Checks the rank. Ranks of a trial count from 0; -1 means all. Errors: InvalidArgument, NotFound.
absl::StatusOr<int> ChosenRank(const LogOptions& options, const v1::TrialSummary& trial) {
  if (!options.rank.has_value()) return -1;
  DT_RETURN_IF_ERROR(CheckAtLeast("--rank", *options.rank, 0));
  if (*options.rank < std::max(1, trial.world_size())) return static_cast<int>(*options.rank);
  return absl::NotFoundError(
      absl::StrCat("trial ", TrialName(trial), " has ", Plural(trial.world_size(), "rank"),
                   ", from 0 to ", trial.world_size() - 1, "; there is no rank ", *options.rank));
}

// Returns the wall time from which chunks are printed. Errors: InvalidArgument.
absl::StatusOr<int64_t> SinceOf(const LogOptions& options) {
  if (options.since.empty()) return 0;
  DT_ASSIGN_OR_RETURN(const absl::Duration since, ParseDuration(options.since));
  return absl::ToUnixMillis(absl::Now() - since);
}

// Prints each reason that there are no lines yet once.
void TellWaiting(Session& session, const v1::TrialSummary& trial, std::string& told) {
  if (trial.state() != v1::TRIAL_PENDING || trial.waiting() == told) return;
  told = trial.waiting();
  session.Note(absl::StrCat("trial ", TrialName(trial), " waits: ", Printable(told),
                            "; its lines appear here once it starts"));
}

absl::StatusOr<ExitCode> Logs(Session& session, const LogOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseTrial(options.selector));
  DT_ASSIGN_OR_RETURN(const int64_t since, SinceOf(options));
  if (options.tail.has_value()) DT_RETURN_IF_ERROR(CheckAtLeast("--tail", *options.tail, 0));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(v1::TrialSummary trial, FetchTrial(*client, selector));
  v1::ReadLogsRequest request;
  request.set_experiment(trial.experiment());  // fixes "last"
  request.set_trial(trial.trial());
  DT_ASSIGN_OR_RETURN(const int rank, ChosenRank(options, trial));
  request.set_rank(rank);
  request.set_page_size(kLogChunksPerPage);
  const Selector fixed{false, trial.experiment(), trial.trial()};
  LogPrinter printer(session, options, since);
  std::string told;
  bool ended = !options.follow;
  while (true) {
    DT_ASSIGN_OR_RETURN(const v1::ReadLogsResponse page, client->ReadLogs(request));
    for (const v1::LogLineChunk& chunk : page.chunks()) printer.Add(chunk);
    if (page.at_end()) printer.CaughtUp();
    DT_RETURN_IF_ERROR(session.Written());
    request.set_page_token(page.next_page_token());
    if (!page.at_end()) continue;
    // The trial's lines arrived before its end. One more read shows the last ones.
    if (ended) break;
    DT_ASSIGN_OR_RETURN(trial, FetchTrial(*client, fixed));
    ended = Ended(trial.state());
    TellWaiting(session, trial, told);
    if (!ended && session.interrupt().Wait(session.pace().poll) == Interrupt::Woken::kByInterrupt) {
      return ExitCode::kInterrupted;
    }
  }
  if (!printer.printed()) {
    const bool chosen = !options.since.empty() || !options.grep.empty();
    session.Note(absl::StrCat("there are no ", chosen ? "matching " : "", "lines of ",
                              rank < 0 ? "" : absl::StrCat("rank ", rank, " of "), "trial ",
                              TrialName(trial)));
  }
  return ExitCode::kOk;
}

struct MetricOptions {
  std::string selector;
  std::vector<std::string> metrics;
  bool all_attempts = false;
  bool parameters = true;
};

// Turns times into ISO 8601, as in all our JSON.
Json WithIsoTime(Json row) {
  const auto found = row.find("wall_time_ms");
  if (found == row.end()) return row;
  row["logged_at"] = TimeJson(found->get<int64_t>());
  row.erase("wall_time_ms");
  return row;
}

absl::StatusOr<ExitCode> Metrics(Session& session, const MetricOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
  DT_RETURN_IF_ERROR(CheckMetricNames(options.metrics));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  // Fixes "last" once: all pages must be of the same experiment.
  v1::ReadMetricsRequest request = Select<v1::ReadMetricsRequest>(selector);
  DT_ASSIGN_OR_RETURN(const v1::GetExperimentResponse found, FetchFile(*client, request));
  std::vector<std::string> paths = ParameterPaths(found.spec());
  request.set_all_attempts(options.all_attempts);
  std::vector<v1::TrialSummary> trials;
  if (options.parameters) {
    DT_ASSIGN_OR_RETURN(trials, client->ListTrials(Select<v1::ListTrialsRequest>(
                                    {false, request.experiment(), request.trial()})));
  } else {
    paths.clear();
  }
  MetricRows rows(request.experiment(), options.metrics,
                  options.all_attempts ? Attempts::kAll : Attempts::kValidOnly, paths, trials,
                  RowSourceOf(found.spec()));
  const bool csv = session.format() == Format::kCsv;
  bool begun = false;
  const auto print = [&](const std::vector<Json>& ready) -> absl::Status {
    if (!rows.settled()) return session.Written();
    if (!std::exchange(begun, true)) {
      std::set<std::string> known = rows.reported();
      known.insert(found.summary().metric());  // may not be reported yet
      DT_RETURN_IF_ERROR(CheckMetricsExist(options.metrics, known));
      if (csv) session.out() << rows.CsvHeader();
    }
    for (const Json& row : ready) {
      session.out() << (csv ? rows.CsvLine(row) : JsonLine(WithIsoTime(row)));
    }
    return session.Written();
  };
  DT_RETURN_IF_ERROR(client->ReadAllMetrics(
      request, [&](const v1::ReadMetricsResponse& page) { return print(rows.Add(page)); }));
  DT_RETURN_IF_ERROR(print(rows.Finish()));
  return ExitCode::kOk;
}

}  // namespace

void AddStreamCommands(CommandTree& tree) {
  auto logs = std::make_shared<LogOptions>();
  CLI::App* app = tree.Add(&tree.app(), "logs", "What the trainers of a trial printed",
                           "dtctl logs last/1\n"
                           "dtctl logs 12/3 -f --rank 0\n"
                           "dtctl logs 12/3 --tail 50 --timestamps\n"
                           "dtctl logs 12/3 --since 10m --grep warning");
  app->add_option("TRIAL", logs->selector, "12/3 or last/3")->required();
  app->add_flag("-f,--follow", logs->follow, "Go on until the trial has ended");
  app->add_option("--rank", logs->rank, "Only this rank; all when left out")->option_text("N");
  app->add_option("--tail", logs->tail, "Only the last N of the stored lines")->option_text("N");
  app->add_option("--since", logs->since, "Only lines written within this time, such as 90s or 2h")
      ->option_text("DURATION");
  app->add_option("--grep", logs->grep, "Only lines that contain this text")->option_text("TEXT");
  app->add_flag("--timestamps", logs->timestamps, "Begin each line with its time, in UTC");
  tree.SetCommand(app, {[logs](Session& session) { return Logs(session, *logs); },
                        {Format::kTable, Format::kJsonl}});

  auto metrics = std::make_shared<MetricOptions>();
  app = tree.Add(&tree.app(), "metrics", "Every logged step and evaluation, as CSV or JSON lines",
                 "dtctl metrics last > metrics.csv\n"
                 "dtctl metrics 12/3 --metric loss --metric val_loss\n"
                 "dtctl metrics 12 --metric accuracy      # what a program reported\n"
                 "dtctl metrics 12 -o jsonl | jq -c '{trial, step, loss}'");
  app->add_option("SEL", metrics->selector, "12, 12/3, last or last/3")->required();
  tree.SetWords(app->add_option("--metric", metrics->metrics,
                                absl::StrCat("Only this column; may be repeated. One of: ",
                                             absl::StrJoin(MetricNames(), ", "),
                                             ", or any that a program reported"))
                    ->option_text("NAME")
                    ->allow_extra_args(false),
                MetricNames());
  app->add_flag("--all-attempts", metrics->all_attempts,
                "Also rows that a later attempt repeated, marked superseded");
  app->add_flag("--with-parameters,!--without-parameters", metrics->parameters,
                "Each row has its trial's parameters, which is so unless --without-parameters");
  tree.SetCommand(app, {[metrics](Session& session) { return Metrics(session, *metrics); },
                        {Format::kCsv, Format::kJsonl}});
}

}  // namespace dt::cli
