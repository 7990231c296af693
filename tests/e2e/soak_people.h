// soak_people.h: users who edit running experiments: every kind of edit in turn, on experiments
// drawn at random. Undoes edits after which nothing would ever happen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/soak_journal.h"
#include "tests/testing/cluster.h"

namespace dt {

class SoakPeople {
 public:
  SoakPeople(testing::Cluster& cluster, std::mt19937& random, std::vector<std::string> workers)
      : cluster_(cluster), random_(random), workers_(std::move(workers)) {}

  // Notes a submitted experiment, its number of configurations and the steps of each.
  void TakeSubmitted(uint64_t experiment, uint32_t trials, int64_t steps) {
    asked_[experiment] = {trials, steps};
  }

  // Makes the next kind of edit on the first experiment, or worker, that takes it. Live experiments
  // come before ended ones.
  void EditOne(std::vector<uint64_t> live, std::vector<uint64_t> ended) {
    turn_ = (turn_ + 1) % kinds_.size();
    for (std::vector<uint64_t>* experiments : {&live, &ended}) {
      std::shuffle(experiments->begin(), experiments->end(), random_);
      for (const uint64_t id : *experiments) {
        if (Edit(kinds_[turn_], id)) return;
      }
    }
  }
  // Lifts every pause, bound and drain.
  void UndoAll() {
    for (const auto& undo : std::exchange(undo_, {})) undo();
  }

  // Edits that were acknowledged and changed something. Refused edits (of an ended experiment, say)
  // and edits without an effect do not count.
  const SoakEdits& taken() const { return taken_; }
  // Trials that were put back to be tried again.
  const SoakEdits& trials_again() const { return trials_again_; }
  // Returns the kinds of edits of which none has been accepted yet.
  std::vector<std::string> Missing() const {
    std::vector<std::string> missing;
    for (const char* kind : {"pause", "resume", "max_concurrent", "max_gpus_total", "priority",
                             "max_trials", "max_steps", "cancel a trial", "cancel", "retry",
                             "drain", "undrain", "rename", "note", "label", "archive"}) {
      const bool taken = std::any_of(taken_.begin(), taken_.end(), [kind](const auto& each) {
        return each.first.second == kind;
      });
      if (!taken) missing.push_back(kind);
    }
    return missing;
  }

 private:
  struct Asked {
    uint32_t trials = 0;
    int64_t steps = 0;
  };

  enum class Kind {
    kPause,
    kMaxConcurrent,
    kMaxGpusTotal,
    kPriority,
    kMaxTrials,
    kMaxSteps,
    kCancelTrial,
    kRetry,
    kCancel,
    kDrain,
    kWords,
    kArchive,  // of an ended experiment
  };

  size_t Below(size_t bound) { return random_() % bound; }

  // Returns whether the edit was accepted.
  bool Edit(Kind kind, uint64_t id) {
    switch (kind) {
      case Kind::kPause:
        return Pause(id);
      case Kind::kMaxConcurrent:
      case Kind::kMaxGpusTotal:
        return Limit(id, kind);
      case Kind::kPriority:
        return Change(id, "priority",
                      [&](auto& request) { request.set_priority(static_cast<int>(Below(5)) - 2); });
      case Kind::kMaxTrials:
        asked_[id].trials += 2;
        return Change(id, "max_trials",
                      [&](auto& request) { request.set_max_trials(asked_[id].trials); });
      case Kind::kMaxSteps:
        asked_[id].steps += 9;
        return Change(id, "max_steps",
                      [&](auto& request) { request.set_max_steps(asked_[id].steps); });
      case Kind::kCancelTrial:
        return Cancel(id, 1 + static_cast<uint32_t>(Below(cluster_.Experiment(id).trials() + 1)));
      case Kind::kRetry:
        return Retry(id);
      case Kind::kCancel:
        undo_.push_back([this, id] { Retry(id); });
        return Cancel(id, 0);
      case Kind::kDrain:
        return Drain(workers_[Below(workers_.size())]);
      case Kind::kWords:
        return Describe(id);
      case Kind::kArchive:
        return Change(id, "archive", [&](auto& request) { request.set_archived(true); });
    }
    return false;
  }

  // Sends a request that may be impossible; the coordinator then refuses it and nothing else
  // happens.
  template <typename Request, typename Response>
  std::optional<Response> Ask(grpc::Status (testing::v1::Control::Stub::*method)(
                                  grpc::ClientContext*, const Request&, Response*),
                              Request request, const std::string& what) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
    context.set_wait_for_ready(true);
    request.set_who("ann");
    Response response;
    const grpc::Status status = (cluster_.control().*method)(&context, request, &response);
    if (status.ok()) return response;
    EXPECT_TRUE(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                status.error_code() == grpc::StatusCode::NOT_FOUND)
        << what << ": " << status.error_code() << " " << status.error_message();
    return std::nullopt;
  }
  bool Took(uint64_t id, const std::string& what, bool changed) {
    if (changed) ++taken_[{id, what}];
    return changed;
  }
  template <typename Fill>
  bool Change(uint64_t id, const std::string& what, const Fill& fill) {
    testing::v1::ChangeRequest request;
    request.set_experiment(id);
    fill(request);
    const auto response = Ask(&testing::v1::Control::Stub::Change, request, what);
    return Took(id, what, response && response->changed());
  }

  bool Pause(uint64_t id) {
    const bool let_run = Below(2) == 0;
    undo_.push_back(
        [this, id] { Change(id, "resume", [](auto& request) { request.mutable_resume(); }); });
    return Change(id, "pause",
                  [&](auto& request) { request.mutable_pause()->set_let_run(let_run); });
  }
  bool Limit(uint64_t id, Kind kind) {
    const bool trials = kind == Kind::kMaxConcurrent;
    const auto set = [this, id, trials](uint32_t most) {
      return Change(id, trials ? "max_concurrent" : "max_gpus_total", [&](auto& request) {
        trials ? request.set_max_concurrent(most) : request.set_max_gpus_total(most);
      });
    };
    undo_.push_back([set] { set(0); });
    return set(trials ? 1 : 2);
  }
  bool Cancel(uint64_t id, uint32_t trial) {
    testing::v1::CancelRequest request;
    request.set_experiment(id);
    request.set_trial(trial);
    const std::string what = trial == 0 ? "cancel" : "cancel a trial";
    // A search between two trials has nothing to stop, but will have more trials.
    const v1::ExperimentSummary before = cluster_.Experiment(id);
    const bool more =
        trial == 0 && before.search_end().empty() && before.planned_trials() > before.trials();
    const auto response = Ask(&testing::v1::Control::Stub::Cancel, request, what);
    return Took(id, what, response && (more || response->trials() > 0));
  }
  bool Retry(uint64_t id) {
    testing::v1::RetryRequest request;
    request.set_experiment(id);
    request.set_failed(true);
    request.set_cancelled(true);
    const auto response = Ask(&testing::v1::Control::Stub::Retry, request, "retry");
    const bool again = response && response->trials() > 0;
    if (again) trials_again_[{id, "retry"}] += static_cast<int>(response->trials());
    return Took(id, "retry", again);
  }
  bool Drain(const std::string& worker) {
    const auto mark = [this, worker](bool drain) {
      testing::v1::MarkWorkerRequest request;
      request.set_worker(worker);
      request.set_drain(drain);
      const std::string what = drain ? "drain" : "undrain";
      const auto response = Ask(&testing::v1::Control::Stub::MarkWorker, request, what);
      return Took(0, what, response && response->changed());
    };
    undo_.push_back([mark] { mark(false); });
    return mark(true);
  }
  bool Describe(uint64_t id) {
    const std::string word = std::to_string(Below(100));
    const bool renamed =
        Change(id, "rename", [&](auto& request) { request.set_name("soak-" + word); });
    Change(id, "note", [&](auto& request) { request.set_note("note " + word); });
    Change(id, "label", [&](auto& request) {
      auto& label = *request.mutable_labels()->add_set();
      label.set_key("soak");
      label.set_value(word);
    });
    return renamed;
  }

  testing::Cluster& cluster_;
  std::mt19937& random_;
  const std::vector<std::string> workers_;
  std::map<uint64_t, Asked> asked_;
  std::vector<std::function<void()>> undo_;
  SoakEdits taken_;
  SoakEdits trials_again_;
  // Retries come after the edits that they undo.
  const std::vector<Kind> kinds_ = {Kind::kPause,         Kind::kMaxTrials,    Kind::kDrain,
                                    Kind::kWords,         Kind::kCancelTrial,  Kind::kRetry,
                                    Kind::kMaxConcurrent, Kind::kMaxSteps,     Kind::kPriority,
                                    Kind::kDrain,         Kind::kMaxGpusTotal, Kind::kCancel,
                                    Kind::kArchive};
  size_t turn_ = Below(kinds_.size());
};

}  // namespace dt
