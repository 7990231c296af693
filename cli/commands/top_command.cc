// top_command.cc: dtctl top: the state of the cluster, live.
//
// Threads: one draws and reads keys. A second one asks the coordinator, one round of questions at a
//          time, so that keys work while no answer comes. They share only a future.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/commands/app.h"
#include "cli/commands/command_tree.h"
#include "cli/remote/outage_timer.h"
#include "cli/remote/raw_terminal.h"
#include "cli/view/glyphs.h"
#include "cli/view/screen.h"
#include "cli/view/top_keys.h"
#include "cli/view/top_view.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt::cli {
namespace {

// Interval of rounds. A round of questions costs the coordinator about as much as ten status calls.
constexpr absl::Duration kIntervalMin = absl::Milliseconds(100);
// Upper bound on the experiments whose waiting trials are fetched, limits::kPageDefault of each.
// The reason of each wait is computed anew, and few reasons differ.
constexpr size_t kExperimentsAsked = 10;
// Upper bound on the experiments fetched one by one. For more live ones, the list of all costs
// less.
constexpr size_t kLiveAsked = 8;
// Rounds between two lists of all experiments. Ended ones change only if a user acts.
constexpr uint64_t kWholeListEvery = 20;
// Upper bound on the delay of a new terminal size or a stop.
constexpr absl::Duration kLookAgain = absl::Milliseconds(250);
// Wait for the bytes after an Escape byte that belong to the same key, for slow connections too.
constexpr absl::Duration kSequenceGap = absl::Milliseconds(50);
constexpr int kPipeColumns = 80;

struct TopSettings {
  bool once = false;
  std::string interval;
};

// Fetches trials; none if the experiment was deleted between two calls.
template <typename T>
absl::StatusOr<T> OrNone(absl::StatusOr<T> found) {
  if (absl::IsNotFound(found.status())) return T();
  return found;
}

absl::Status FetchTrials(Client& client, TopState& state) {
  size_t asked = 0;
  for (const v1::ExperimentSummary& one : state.experiments) {
    v1::ListTrialsRequest request;
    request.set_experiment(one.experiment());
    if (one.running() > 0) {
      for (const auto live : {v1::TRIAL_STARTING, v1::TRIAL_RUNNING, v1::TRIAL_STOPPING}) {
        request.add_states(live);
      }
      DT_ASSIGN_OR_RETURN(const auto trials, OrNone(client.ListTrials(request)));
      state.live.insert(state.live.end(), trials.begin(), trials.end());
    }
    if (one.pending() > 0 && asked++ < kExperimentsAsked) {
      request.clear_states();
      request.add_states(v1::TRIAL_PENDING);
      request.set_page_size(static_cast<int>(limits::kPageDefault));
      DT_ASSIGN_OR_RETURN(const auto page, OrNone(client.ListTrialsPage(request)));
      state.waiting.insert(state.waiting.end(), page.trials().begin(), page.trials().end());
    }
  }
  return absl::OkStatus();
}

// Returns whether fetching only the live experiments is enough and cheaper.
bool FewLive(const std::vector<v1::ExperimentSummary>& known) {
  const auto live = std::count_if(known.begin(), known.end(),
                                  [](const auto& one) { return !Ended(one.state()); });
  return !known.empty() && static_cast<size_t>(live) <= kLiveAsked &&
         static_cast<size_t>(live) < known.size();
}

// Updates `known` by fetching the experiments that have not ended, and the newest. Returns false if
// there is a new one, or one is gone, so that all must be fetched.
absl::StatusOr<bool> RefreshLive(Client& client, std::vector<v1::ExperimentSummary>& known) {
  v1::ListExperimentsRequest request;
  request.set_last(true);
  DT_ASSIGN_OR_RETURN(const auto newest, OrNone(client.ListExperiments(request)));
  if (newest.empty() || newest[0].experiment() != known.back().experiment()) return false;
  for (v1::ExperimentSummary& one : known) {
    if (Ended(one.state())) continue;
    request.Clear();
    request.set_experiment(one.experiment());
    DT_ASSIGN_OR_RETURN(auto fresh, OrNone(client.ListExperiments(request)));
    if (fresh.empty()) return false;
    one = std::move(fresh[0]);
  }
  return true;
}

// Experiments as known between two rounds. Ended ones are fetched again every few rounds: a user
// may have retried or deleted one.
class Experiments {
 public:
  absl::StatusOr<std::vector<v1::ExperimentSummary>> Fetch(Client& client) {
    bool fresh = false;
    if (rounds_++ % kWholeListEvery != 0 && FewLive(known_)) {
      DT_ASSIGN_OR_RETURN(fresh, RefreshLive(client, known_));
    }
    if (!fresh) {
      DT_ASSIGN_OR_RETURN(known_, client.ListExperiments({}));
    }
    return known_;
  }

 private:
  uint64_t rounds_ = 0;
  std::vector<v1::ExperimentSummary> known_;  // in order of number
};

absl::StatusOr<TopState> FetchTop(Client& client, Experiments& experiments) {
  TopState state;
  state.address = client.address();
  DT_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client.GetStatus());
  state.program_version = status.program_version();
  DT_ASSIGN_OR_RETURN(state.experiments, experiments.Fetch(client));
  DT_RETURN_IF_ERROR(FetchTrials(client, state));
  DT_ASSIGN_OR_RETURN(state.workers, client.ListWorkers());
  return state;
}

TopOptions OptionsNow(Session& session) {
  TopOptions options;
  const TerminalSize size = session.terminal().size();
  options.width = size.columns;
  options.rows = size.rows;
  options.glyphs = session.terminal().Unicode() ? Glyphs::kUnicode : Glyphs::kAscii;
  options.clock = absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone());
  return options;
}

// Prints everything once, as wide as the terminal or as `watch` sets it.
void PrintOnce(Session& session, const TopState& state) {
  TopOptions options = OptionsNow(session);
  options.rows = 0;
  if (!session.terminal().out_is_tty) {
    int columns = 0;
    const bool said = absl::SimpleAtoi(session.terminal().environment("COLUMNS"), &columns);
    options.width = said && columns > 0 ? columns : kPipeColumns;
  }
  session.Print(MakeTopFrame(state, TopView(), options).lines);
}

// Asks the coordinator, in a thread of its own.
class Asker {
 public:
  explicit Asker(const ClientOptions& options) : options_(options) {}
  ~Asker() {
    stop_.Trigger();
    if (answer_.valid()) answer_.wait();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  absl::Status Connect() {
    DT_ASSIGN_OR_RETURN(client_, Client::Make(options_, stop_));
    return absl::OkStatus();
  }
  bool Asking() const { return answer_.valid(); }
  void Ask() {
    done_ = std::make_unique<Interrupt>();
    answer_ = std::async(std::launch::async, [this] {
      absl::StatusOr<TopState> state = FetchTop(*client_, experiments_);
      done_->Trigger();
      return state;
    });
  }
  // Returns an event that triggers when there is an answer. REQUIRES: Asking().
  const Interrupt& done() const { return *done_; }
  absl::StatusOr<TopState> Take() { return answer_.get(); }

 private:
  const ClientOptions options_;
  Interrupt stop_;
  std::unique_ptr<Client> client_;
  Experiments experiments_;  // of the asking thread
  std::unique_ptr<Interrupt> done_;
  std::future<absl::StatusOr<TopState>> answer_;
};

class Watching {
 public:
  Watching(Session& session, Asker& asker, TopState state, absl::Duration interval)
      : session_(session),
        asker_(asker),
        interval_(interval),
        state_(std::move(state)),
        raw_(session.terminal().in_fd, session.terminal().out_fd) {}

  // Runs until the user quits.
  absl::StatusOr<ExitCode> Run() {
    absl::Time next = absl::Now() + interval_;
    while (true) {
      DT_RETURN_IF_ERROR(Draw());
      if (!asker_.Asking() && !view_.paused && absl::Now() >= next) {
        asker_.Ask();
        next = absl::Now() + interval_;
      }
      const Interrupt& woken_by = asker_.Asking() ? asker_.done() : session_.interrupt();
      const auto woken = woken_by.Wait(kLookAgain, session_.terminal().in_fd);
      if (session_.interrupt().Triggered()) return ExitCode::kInterrupted;
      if (asker_.Asking() && asker_.done().Triggered()) DT_RETURN_IF_ERROR(TakeAnswer());
      if (woken != Interrupt::Woken::kByDescriptor) continue;
      const std::string typed = raw_.Read();
      if (typed.empty()) return ExitCode::kOk;  // the terminal is gone
      const Act act = Take(typed);
      if (act == Act::kQuit) return ExitCode::kOk;
      if (act == Act::kInterrupt) return ExitCode::kInterrupted;
    }
  }

 private:
  absl::Status Draw() {
    if (raw_.Continued()) drawn_.clear();
    const TopOptions options = OptionsNow(session_);
    if (options.width != columns_) drawn_.clear();
    columns_ = options.width;
    frame_ = MakeTopFrame(state_, view_, options);
    std::vector<std::string> lines;
    for (const Line& line : frame_.lines) lines.push_back(RenderLine(line, session_.colour()));
    // A terminal that changed its height may have moved its content.
    if (lines.size() != drawn_.size()) drawn_.clear();
    session_.out() << Difference(drawn_, lines);
    drawn_ = std::move(lines);
    return session_.Written();
  }

  // Errors: as OutageTimer::Notice.
  absl::Status TakeAnswer() {
    absl::StatusOr<TopState> answer = asker_.Take();
    if (answer.ok()) {
      outage_timer_.Answered();
      // A user who has just paused wants to read the current screen.
      if (!view_.paused) state_ = *std::move(answer);
      return absl::OkStatus();
    }
    DT_ASSIGN_OR_RETURN(state_.notice, outage_timer_.Notice(answer.status()));
    return absl::OkStatus();
  }

  // Returns the first typed act that ends the loop, or kNone.
  Act Take(const std::string& typed) {
    typed_ += typed;
    std::vector<Key> keys = TakeKeys(typed_, MoreInput::kMayCome);
    if (!typed_.empty()) {
      const auto woken = session_.interrupt().Wait(kSequenceGap, session_.terminal().in_fd);
      const bool more = woken == Interrupt::Woken::kByDescriptor;
      if (more) typed_ += raw_.Read();
      for (Key& key : TakeKeys(typed_, MoreInput::kNone)) keys.push_back(std::move(key));
    }
    for (const Key& key : keys) {
      KeyResult pressed = Press(std::move(view_), key, frame_);
      view_ = std::move(pressed.view);
      if (pressed.act == Act::kSuspend) raw_.Suspend();
      if (pressed.act == Act::kRedraw) drawn_.clear();
      if (pressed.act == Act::kQuit || pressed.act == Act::kInterrupt) return pressed.act;
    }
    return Act::kNone;
  }

  Session& session_;
  Asker& asker_;
  const absl::Duration interval_;
  TopState state_;
  TopView view_;
  TopFrame frame_;
  OutageTimer outage_timer_;
  int columns_ = 0;
  std::vector<std::string> drawn_;  // the lines on the screen; empty: unknown
  std::string typed_;               // the beginning of a key
  RawTerminal raw_;
};

bool Interactive(const Terminal& terminal) {
  return terminal.CanRedraw() && terminal.in_is_tty && terminal.in_fd >= 0 && terminal.out_fd >= 0;
}

absl::StatusOr<ExitCode> Top(Session& session, const TopSettings& settings) {
  absl::Duration interval = session.pace().poll;
  if (!settings.interval.empty()) {
    DT_ASSIGN_OR_RETURN(interval, ParseDuration(settings.interval));
    if (interval < kIntervalMin) {
      return absl::InvalidArgumentError(
          absl::StrCat("--interval is ", absl::FormatDuration(interval), "; it must be at least ",
                       absl::FormatDuration(kIntervalMin)));
    }
  }
  // Uses the session's connection, so that Ctrl-C ends the call.
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  Experiments experiments;
  DT_ASSIGN_OR_RETURN(TopState state, FetchTop(*client, experiments));
  if (settings.once || !Interactive(session.terminal())) {
    PrintOnce(session, state);
    return ExitCode::kOk;
  }
  Asker asker(*session.options().client);
  DT_RETURN_IF_ERROR(asker.Connect());
  return Watching(session, asker, std::move(state), interval).Run();
}

}  // namespace

void AddTopCommand(CommandTree& tree) {
  auto settings = std::make_shared<TopSettings>();
  CLI::App* app = tree.Add(&tree.app(), "top",
                           "Watch everything that runs and waits: trials, workers, the queue",
                           "dtctl top                 # ? shows the keys, q quits\n"
                           "dtctl top --interval 5s   # over a slow line\n"
                           "dtctl top --once          # one screen, for a file or a ticket\n"
                           "watch dtctl top");
  app->add_flag("--once", settings->once, "Print everything once and end; so does a pipe");
  app->add_option("--interval", settings->interval,
                  "Ask the coordinator this often, such as 500ms or 5s; 1s unless given")
      ->option_text("DURATION");
  tree.SetCommand(app, {[settings](Session& session) { return Top(session, *settings); }});
}

}  // namespace dt::cli
