#include "cli/remote/follow.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/remote/outage_timer.h"
#include "cli/remote/page_link.h"
#include "cli/view/glyphs.h"
#include "cli/view/standstill.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "spec/metric.h"
#include "spec/program.h"

namespace dt::cli {
namespace {

// Interval between full lists where trials fill more than a page. Frames in between fetch only the
// live ones.
constexpr int kWholeListEvery = 20;

absl::StatusOr<v1::ExperimentSummary> FetchSummary(Client& client, const Selector& selector) {
  DT_ASSIGN_OR_RETURN(const auto found, client.ListExperiments(Select<v1::ListExperimentsRequest>(
                                            {selector.last, selector.experiment})));
  if (!found.empty()) return found.front();
  return absl::NotFoundError(
      selector.last ? "there are no experiments yet; start one with 'dtctl submit FILE'"
                    : absl::StrCat("there is no experiment ", selector.experiment,
                                   "; 'dtctl get experiments' lists them"));
}

// Updates the live trials. Trials that ended meanwhile are updated by the next full list.
absl::Status Refresh(Client& client, LiveState& state, int frame) {
  const Selector selector{false, state.experiment.experiment()};
  DT_ASSIGN_OR_RETURN(state.experiment, FetchSummary(client, selector));
  v1::ListTrialsRequest request = Select<v1::ListTrialsRequest>(selector);
  const bool whole = state.experiment.trials() <= limits::kPageMax ||
                     frame % kWholeListEvery == 0 || Ended(state.experiment.state());
  if (!whole) {
    for (auto live : {v1::TRIAL_STARTING, v1::TRIAL_RUNNING, v1::TRIAL_STOPPING}) {
      request.add_states(live);
    }
  }
  DT_ASSIGN_OR_RETURN(auto trials, client.ListTrials(request));
  if (whole) {
    state.trials = std::move(trials);
    return absl::OkStatus();
  }
  std::erase_if(state.trials, [&trials](const v1::TrialSummary& known) {
    const bool live = !Ended(known.state()) && known.state() != v1::TRIAL_PENDING;
    return live && std::none_of(trials.begin(), trials.end(), [&known](const auto& fresh) {
             return fresh.trial() == known.trial();
           });
  });
  for (v1::TrialSummary& fresh : trials) {
    const auto known = std::find_if(state.trials.begin(), state.trials.end(),
                                    [&](const auto& t) { return t.trial() == fresh.trial(); });
    if (known != state.trials.end()) {
      *known = std::move(fresh);
    } else {
      state.trials.push_back(std::move(fresh));
    }
  }
  return absl::OkStatus();
}

LiveOptions OptionsNow(Session& session) {
  const TerminalSize size = session.terminal().size();
  LiveOptions options;
  options.width = session.terminal().out_is_tty ? size.columns : 120;
  options.rows = size.rows;
  options.glyphs = session.terminal().Unicode() ? Glyphs::kUnicode : Glyphs::kAscii;
  options.now_wall_ms = absl::ToUnixMillis(absl::Now());
  return options;
}

absl::Status PrintResults(Session& session, Client& client, LiveState state) {
  Results results;
  results.state = std::move(state);
  const v1::ExperimentSummary& experiment = results.state.experiment;
  const auto ranked = Ranked(results.state.trials, GoalOf(experiment.goal()), results.state.early);
  if (!ranked.empty() && report::Counts(*ranked.front())) {
    DT_ASSIGN_OR_RETURN(results.best_checkpoint, FindBestCheckpoint(client, experiment.experiment(),
                                                                    ranked.front()->trial()));
  }
  DT_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client.GetStatus());
  results.page =
      PageLinkText(PageLinkOf(status.http_address(), client.address(), experiment.experiment()));
  session.out() << "\n";
  session.Print(ResultLines(results, OptionsNow(session)));
  return absl::OkStatus();
}

ExitCode Detach(Session& session, uint64_t experiment) {
  session.Note(absl::StrCat("\nDetached; experiment ", experiment,
                            " goes on. Watch it again with 'dtctl follow ", experiment,
                            "', stop it with 'dtctl cancel ", experiment, "'."));
  return ExitCode::kInterrupted;
}

// Draws frames until the experiment ends. Returns kInterrupted after Ctrl-C, else kOk.
absl::StatusOr<ExitCode> Show(Session& session, Client& client, LiveState& state) {
  std::unique_ptr<Redrawer> redrawer;
  if (session.terminal().CanRedraw()) {
    redrawer = std::make_unique<Redrawer>(session.terminal(), session.colour());
  }
  LiveLog log;
  OutageTimer outage_timer;
  for (int frame = 1;; ++frame) {
    const LiveOptions options = OptionsNow(session);
    if (redrawer != nullptr) {
      redrawer->Draw(LiveFrame(state, options));
    } else {
      for (const std::string& text : log.Update(state, options.now_wall_ms)) {
        session.out() << text << std::endl;
      }
    }
    DT_RETURN_IF_ERROR(session.Written());
    if (Ended(state.experiment.state())) return ExitCode::kOk;
    const absl::Duration pause = redrawer != nullptr ? session.pace().redraw : session.pace().poll;
    if (session.interrupt().Wait(pause) == Interrupt::Woken::kByInterrupt) {
      return ExitCode::kInterrupted;
    }
    const absl::Status status = Refresh(client, state, frame);
    if (session.interrupt().Triggered()) return ExitCode::kInterrupted;
    state.notice.clear();
    if (status.ok()) {
      outage_timer.Answered();
    } else {
      DT_ASSIGN_OR_RETURN(state.notice, outage_timer.Notice(status));
    }
  }
}

bool Reached(v1::TrialState state, uint64_t step, Until until) {
  if (Ended(state)) return true;
  switch (until) {
    case Until::kDone:
      return false;
    case Until::kRunning:
      return state == v1::TRIAL_RUNNING;
    case Until::kFirstStep:
      return step > 0;
  }
  return false;
}

// Exit code once the condition holds, or nothing yet; then the reason that nothing runs, or "".
struct WaitStatus {
  std::optional<ExitCode> code;
  std::string waiting;
};
absl::StatusOr<WaitStatus> Look(Client& client, const Selector& selector, Until until) {
  if (selector.trial != 0 || until != Until::kDone) {
    DT_ASSIGN_OR_RETURN(const auto trials,
                        client.ListTrials(Select<v1::ListTrialsRequest>(selector)));
    if (trials.empty()) return absl::NotFoundError("there is no such trial");
    for (const v1::TrialSummary& trial : trials) {
      if (!Reached(trial.state(), trial.step(), until)) continue;
      if (selector.trial != 0) return WaitStatus{ExitCodeOf(trial.state()), {}};
      // A trial that ended before it trained says nothing about the others.
      if (trial.step() > 0 || !Ended(trial.state())) return WaitStatus{ExitCode::kOk, {}};
    }
    if (selector.trial != 0) return WaitStatus{std::nullopt, trials.front().waiting()};
  }
  DT_ASSIGN_OR_RETURN(const auto experiment, FetchSummary(client, selector));
  if (Ended(experiment.state())) return WaitStatus{ExitCodeOf(experiment.state()), {}};
  return WaitStatus{std::nullopt, experiment.waiting()};
}

// Prints rare notes on stderr for a user who waits: that nothing runs and why, and that the
// coordinator does not answer.
class WaitNotes {
 public:
  WaitNotes(Session& session, std::string name) : session_(session), name_(std::move(name)) {}

  void Answered(const std::string& waiting) {
    silence_ = Standstill();
    if (std::exchange(silent_, false)) session_.Note("The coordinator answers again.");
    if (!standstill_.IsDue(waiting, Now())) return;
    session_.Note(absl::StrCat(name_, " does not run: ", Printable(waiting), "."));
  }
  void Unanswered(const std::string& notice) {
    if (!silence_.IsDue(notice, Now())) return;
    silent_ = true;
    session_.Note(notice);
  }

 private:
  static int64_t Now() { return absl::ToUnixMillis(absl::Now()); }

  Session& session_;
  const std::string name_;
  Standstill standstill_;
  Standstill silence_;
  bool silent_ = false;
};

}  // namespace

absl::StatusOr<std::optional<v1::CheckpointSummary>> FindBestCheckpoint(Client& client,
                                                                        uint64_t experiment,
                                                                        uint32_t trial) {
  v1::ListCheckpointsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  DT_ASSIGN_OR_RETURN(const auto checkpoints, client.ListCheckpoints(request));
  std::optional<v1::CheckpointSummary> chosen;
  for (const v1::CheckpointSummary& one : checkpoints) {
    const auto rank = [](const v1::CheckpointSummary& c) {
      return std::make_pair(c.checkpoint().best(), c.checkpoint().step());
    };
    if (!chosen.has_value() || rank(one) > rank(*chosen)) chosen = one;
  }
  return chosen;
}

absl::StatusOr<std::vector<std::string>> FetchMetricNames(Client& client, uint64_t experiment) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment);
  request.set_page_size(1000);
  std::set<std::string> names;
  // Evaluations come before all rows.
  for (;;) {
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, client.ReadMetrics(request));
    for (const v1::EvaluationRow& one : page.evaluations()) {
      if (one.evaluation().split() != "val") continue;
      for (std::string& name : spec::MetricsIn(one.evaluation())) names.insert(std::move(name));
    }
    for (const v1::MetricRow& one : page.rows()) {
      if (std::isfinite(one.row().loss())) names.insert("loss");
    }
    if (page.rows_size() > 0 || page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<LiveState> FetchExperiment(Client& client, const Selector& selector) {
  LiveState state;
  DT_ASSIGN_OR_RETURN(state.experiment, FetchSummary(client, selector));
  v1::ListTrialsRequest request;
  request.set_experiment(state.experiment.experiment());
  DT_ASSIGN_OR_RETURN(state.trials, client.ListTrials(request));
  v1::GetExperimentRequest of;
  of.set_experiment(request.experiment());
  DT_ASSIGN_OR_RETURN(const auto found, client.GetExperiment(of));
  state.early = EarlyOf(found.spec());
  state.program = spec::IsProgram(found.spec());
  return state;
}

absl::StatusOr<ExitCode> FollowExperiment(Session& session, const Selector& selector) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(LiveState state, FetchExperiment(*client, selector));
  DT_ASSIGN_OR_RETURN(const ExitCode shown, Show(session, *client, state));
  if (shown == ExitCode::kInterrupted) return Detach(session, state.experiment.experiment());
  const v1::ExperimentState end = state.experiment.state();
  DT_RETURN_IF_ERROR(PrintResults(session, *client, std::move(state)));
  return ExitCodeOf(end);
}

absl::StatusOr<ExitCode> WaitUntil(Session& session, const Selector& selector, Until until,
                                   absl::Duration timeout) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  const absl::Time deadline = absl::Now() + timeout;
  // "last" means the newest one now, not a newer one submitted meanwhile.
  DT_ASSIGN_OR_RETURN(const auto experiment, FetchSummary(*client, selector));
  const Selector fixed{false, experiment.experiment(), selector.trial};
  OutageTimer outage_timer;
  WaitNotes notes(session,
                  absl::StrCat(fixed.trial == 0 ? "experiment " : "trial ", fixed.experiment,
                               fixed.trial == 0 ? "" : absl::StrCat("/", fixed.trial)));
  while (true) {
    const absl::StatusOr<WaitStatus> looked = Look(*client, fixed, until);
    if (session.interrupt().Triggered()) return Detach(session, fixed.experiment);
    if (looked.ok()) {
      outage_timer.Answered();
      if (looked->code.has_value()) return *looked->code;
      notes.Answered(looked->waiting);
    } else {
      DT_ASSIGN_OR_RETURN(const std::string notice, outage_timer.Notice(looked.status()));
      notes.Unanswered(notice);
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      session.Note(absl::StrCat("Not within ", absl::FormatDuration(timeout), "; experiment ",
                                fixed.experiment, " goes on."));
      return ExitCode::kTimedOut;
    }
    const auto woken = session.interrupt().Wait(std::min(left, session.pace().poll));
    if (woken == Interrupt::Woken::kByInterrupt) return Detach(session, fixed.experiment);
  }
}

}  // namespace dt::cli
