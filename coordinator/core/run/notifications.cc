// notifications.cc: makes notices from the facts of a turn.
#include "coordinator/core/run/notifications.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/notice_limits.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/model/notice_word.h"
#include "spec/notify.h"

namespace dt {
namespace {

// Returns the best trial with its value; {0, NaN} if no trial has a value.
std::pair<uint32_t, double> BestOf(const State& state, const Experiment& experiment) {
  const auto found = state.live.progress.find(experiment.id);
  if (found == state.live.progress.end() || found->second.ranked.empty()) {
    return {0, kNotANumber};
  }
  const uint32_t trial = found->second.ranked.begin()->second;
  return {trial, found->second.trials[trial - 1].value};
}

v1::Notice About(const Experiment& experiment, v1::Notice::Event event) {
  v1::Notice notice;
  notice.set_event(event);
  notice.set_experiment(experiment.id);
  notice.set_name(CleanText(experiment.spec.name(), limits::kNoticeTextBytes));
  notice.set_submitted_by(experiment.submitted_by);
  return notice;
}

v1::Notice AboutTrial(const State& state, TrialId id, v1::Notice::Event event) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  v1::Notice notice = About(experiment, event);
  notice.set_trial(id.trial);
  notice.set_state(std::string(Name(trial.state)));
  if (trial.cause != v1::CAUSE_UNSPECIFIED) notice.set_cause(std::string(Name(trial.cause)));
  notice.set_message(CleanText(trial.message, limits::kNoticeTextBytes));
  notice.set_metric(experiment.spec.search().metric());
  const auto progress = state.live.progress.find(id.experiment);
  if (progress != state.live.progress.end() && id.trial <= progress->second.trials.size()) {
    const double value = progress->second.trials[id.trial - 1].value;
    if (std::isfinite(value)) notice.set_value(value);
  }
  return notice;
}

v1::Notice AboutEnd(const State& state, const Experiment& experiment) {
  v1::Notice notice = About(experiment, v1::Notice::FINISHED);
  notice.set_state(std::string(Name(StateOf(experiment))));
  notice.set_message(absl::StrCat(experiment.finished, " finished, ", experiment.failed,
                                  " failed, ", experiment.cancelled, " cancelled"));
  const auto [best, value] = BestOf(state, experiment);
  if (best == 0) return notice;
  notice.set_trial(best);
  notice.set_metric(experiment.spec.search().metric());
  notice.set_value(value);
  return notice;
}

// Returns the notice of a trial's end, which has been applied; nullopt if it is not worth one.
std::optional<v1::Notice> NoticeOf(const State& state, const v1::TrialEnded& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  if (fact.state() == v1::TRIAL_FAILED) return AboutTrial(state, id, v1::Notice::FAILED);
  if (fact.state() != v1::TRIAL_FINISHED) return std::nullopt;
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  if (BestOf(state, experiment).first != id.trial) return std::nullopt;
  return AboutTrial(state, id, v1::Notice::BEST);
}

// Returns the experiment that the fact may have ended; 0: none.
ExperimentId MayHaveEnded(const v1::Record& record) {
  if (record.has_trial_ended()) return record.trial_ended().experiment();
  if (record.has_search_ended()) return record.search_ended().experiment();
  if (record.has_cancel_requested()) return record.cancel_requested().experiment();
  return 0;
}

bool HasRoom(const State& state, const std::string& url) {
  if (state.durable.notices.size() >= limits::kNoticesWaiting) return false;
  const auto same = state.durable.notices_of.find(url);
  return same == state.durable.notices_of.end() || same->second < limits::kNoticesPerReceiver;
}

void RaiseTo(Turn& turn, v1::Notice notice, const std::string& url, const std::string& form) {
  if (!HasRoom(turn.state, url)) {
    // Log the 1st, 2nd, 4th, 8th … dropped notice only.
    if (std::has_single_bit(++turn.live().notices_dropped)) {
      turn.effects.log_lines.push_back(absl::StrCat("a notice of experiment ", notice.experiment(),
                                                    " is dropped: too many wait for its receiver (",
                                                    turn.live().notices_dropped,
                                                    " dropped since the start)"));
    }
    return;
  }
  notice.set_number(turn.durable().next_notice);
  notice.set_url(url);
  notice.set_form(form);
  notice.set_wall_ms(turn.now.wall_ms);
  v1::Record record;
  *record.mutable_notice_raised()->mutable_notice() = std::move(notice);
  Journal(turn, std::move(record));
}

void Raise(Turn& turn, const v1::Notice& notice) {
  const Experiment& experiment = GetExperiment(turn.durable(), notice.experiment());
  const v1::Notify& notify = experiment.spec.notify();
  const v1::Notify& own = turn.live().own_receiver;
  const std::string word = WordOf(notice.event());
  if (spec::AsksFor(notify, word)) RaiseTo(turn, notice, notify.url(), notify.form());
  if (spec::AsksFor(own, word)) RaiseTo(turn, notice, "", own.form());
}

bool Listens(const State& state, const Experiment& experiment) {
  return !state.live.own_receiver.url().empty() || !experiment.spec.notify().url().empty();
}

}  // namespace

bool IsWanted(const State& state, const Experiment& experiment, v1::Notice::Event event) {
  const std::string word = WordOf(event);
  return spec::AsksFor(state.live.own_receiver, word) ||
         spec::AsksFor(experiment.spec.notify(), word);
}

void RaiseNotices(Turn& turn) {
  std::vector<v1::Notice> notices;
  std::set<ExperimentId> ended;
  for (const v1::Record& record : turn.effects.records) {
    const ExperimentId id = MayHaveEnded(record);
    const Experiment* experiment = id == 0 ? nullptr : FindExperiment(turn.durable(), id);
    if (experiment == nullptr || !Listens(turn.state, *experiment)) continue;
    if (record.has_trial_ended()) {
      std::optional<v1::Notice> notice = NoticeOf(turn.state, record.trial_ended());
      if (notice.has_value()) notices.push_back(*std::move(notice));
    }
    if (experiment->AllEnded()) ended.insert(id);
  }
  for (const v1::Notice& notice : notices) Raise(turn, notice);
  for (const ExperimentId id : ended) {
    Raise(turn, AboutEnd(turn.state, GetExperiment(turn.durable(), id)));
  }
}

void LookForStall(Turn& turn, LiveAttempt& attempt) {
  attempt.stall_looked = turn.now.steady;
  // The silence of a program that never reported a step means nothing.
  if (attempt.stall_told || !attempt.latest.has_value()) return;
  const auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr) return;
  if (turn.now.steady - training->last_progress < limits::kStalled) return;
  attempt.stall_told = true;
  v1::Notice notice = AboutTrial(turn.state, attempt.id.trial, v1::Notice::STALLED);
  notice.set_message(absl::StrCat("no step since step ", attempt.step, ", for ",
                                  absl::ToInt64Minutes(turn.now.steady - training->last_progress),
                                  " minutes"));
  Raise(turn, notice);
}

void SettleNotice(Turn& turn, const NoticeDone& done) {
  if (!turn.durable().notices.contains(done.number)) return;
  const bool delivered = done.outcome == v1::NoticeSettled::DELIVERED;
  ++(delivered ? turn.live().notices_delivered : turn.live().notices_failed);
  v1::Record record;
  record.mutable_notice_settled()->set_number(done.number);
  record.mutable_notice_settled()->set_outcome(done.outcome);
  Journal(turn, std::move(record));
}

}  // namespace dt
