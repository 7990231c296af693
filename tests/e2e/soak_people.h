// soak_people.h: people who change what runs: every edit that there is, drawn at random. What would
// stand still for ever is undone.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/cluster.h"

namespace dt {

class SoakPeople {
 public:
  SoakPeople(testing::Cluster& cluster, std::mt19937& random, std::vector<std::string> workers)
      : cluster_(cluster), random_(random), workers_(std::move(workers)) {}

  // An experiment that `trials` configurations are asked of, and how many steps of each.
  void TakeSubmitted(uint64_t experiment, uint32_t trials, int64_t steps) {
    asked_[experiment] = {trials, steps};
  }

  // Changes something of one of these experiments, or of a worker.
  void EditOne(const std::vector<uint64_t>& experiments) {
    const uint64_t id = experiments[Below(experiments.size())];
    switch (Below(10)) {
      case 0:
        return Pause(id);
      case 1:
        return Limit(id);
      case 2:
        return Change(id, "priority",
                      [&](auto& request) { request.set_priority(static_cast<int>(Below(5)) - 2); });
      case 3:
        asked_[id].trials += 2;
        return Change(id, "max_trials",
                      [&](auto& request) { request.set_max_trials(asked_[id].trials); });
      case 4:
        asked_[id].steps += 9;
        return Change(id, "max_steps",
                      [&](auto& request) { request.set_max_steps(asked_[id].steps); });
      case 5:
        return Cancel(id, 1 + static_cast<uint32_t>(Below(cluster_.Experiment(id).trials() + 1)));
      case 6:
        if (Below(4) != 0) return Retry(id);
        Cancel(id, 0);
        return undo_.push_back([this, id] { Retry(id); });
      case 7:
      case 8:
        return Drain(workers_[Below(workers_.size())]);
      case 9:
        return Describe(id);
    }
  }
  // Nothing is paused, bounded or drained any more.
  void UndoAll() {
    for (const auto& undo : std::exchange(undo_, {})) undo();
  }

  // How many edits of each kind were taken; refused ones (of what has ended, say) do not count.
  const std::map<std::string, int>& taken() const { return taken_; }

 private:
  struct Asked {
    uint32_t trials = 0;
    int64_t steps = 0;
  };

  size_t Below(size_t bound) { return random_() % bound; }

  // A person may ask for what cannot be; the coordinator says so and nothing else happens.
  template <typename Request, typename Response>
  void Ask(grpc::Status (testing::v1::Control::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
           Request request, const std::string& what) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
    context.set_wait_for_ready(true);
    request.set_who("ann");
    Response response;
    const grpc::Status status = (cluster_.control().*method)(&context, request, &response);
    if (status.ok()) ++taken_[what];
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                status.error_code() == grpc::StatusCode::NOT_FOUND)
        << what << ": " << status.error_code() << " " << status.error_message();
  }
  template <typename Fill>
  void Change(uint64_t id, const std::string& what, const Fill& fill) {
    testing::v1::ChangeRequest request;
    request.set_experiment(id);
    fill(request);
    Ask(&testing::v1::Control::Stub::Change, request, what);
  }

  void Pause(uint64_t id) {
    const bool let_run = Below(2) == 0;
    Change(id, "pause", [&](auto& request) { request.mutable_pause()->set_let_run(let_run); });
    undo_.push_back(
        [this, id] { Change(id, "resume", [](auto& request) { request.mutable_resume(); }); });
  }
  void Limit(uint64_t id) {
    const bool trials = Below(2) == 0;
    const auto set = [this, id, trials](uint32_t most) {
      Change(id, trials ? "max_concurrent" : "max_gpus_total", [&](auto& request) {
        trials ? request.set_max_concurrent(most) : request.set_max_gpus_total(most);
      });
    };
    set(trials ? 1 : 2);
    undo_.push_back([set] { set(0); });
  }
  void Cancel(uint64_t id, uint32_t trial) {
    testing::v1::CancelRequest request;
    request.set_experiment(id);
    request.set_trial(trial);
    Ask(&testing::v1::Control::Stub::Cancel, request, trial == 0 ? "cancel" : "cancel a trial");
  }
  void Retry(uint64_t id) {
    testing::v1::RetryRequest request;
    request.set_experiment(id);
    request.set_failed(true);
    request.set_cancelled(true);
    Ask(&testing::v1::Control::Stub::Retry, request, "retry");
  }
  void Drain(const std::string& worker) {
    const auto mark = [this, worker](bool drain) {
      testing::v1::MarkWorkerRequest request;
      request.set_worker(worker);
      request.set_drain(drain);
      Ask(&testing::v1::Control::Stub::MarkWorker, request, drain ? "drain" : "undrain");
    };
    mark(true);
    undo_.push_back([mark] { mark(false); });
  }
  void Describe(uint64_t id) {
    const std::string word = std::to_string(Below(100));
    Change(id, "rename", [&](auto& request) { request.set_name("soak-" + word); });
    Change(id, "note", [&](auto& request) { request.set_note("note " + word); });
    Change(id, "label", [&](auto& request) {
      auto& label = *request.mutable_labels()->add_set();
      label.set_key("soak");
      label.set_value(word);
    });
    Change(id, "archive", [&](auto& request) { request.set_archived(true); });
  }

  testing::Cluster& cluster_;
  std::mt19937& random_;
  const std::vector<std::string> workers_;
  std::map<uint64_t, Asked> asked_;
  std::vector<std::function<void()>> undo_;
  std::map<std::string, int> taken_;
};

}  // namespace dt
