// top_fixture.h: a busy cluster, for tests of `dtctl top`.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/view/top_view.h"

namespace dt::cli {

inline v1::TrialSummary TopTrial(uint64_t experiment, uint32_t number, v1::TrialState state) {
  v1::TrialSummary trial;
  trial.set_experiment(experiment);
  trial.set_trial(number);
  trial.set_state(state);
  trial.set_eta_seconds(-1);
  trial.set_world_size(2);
  trial.set_comm_ratio(std::numeric_limits<double>::quiet_NaN());
  v1::Assignment* assignment = trial.add_assignments();
  assignment->set_path("optimizer.lr");
  assignment->mutable_value()->set_number(1e-3 / number);
  return trial;
}

struct Numbers {
  uint64_t step = 0;
  double loss = 0;
  double rate = 0;
  double skew_seconds = 0;
};
inline v1::TrialSummary Training(v1::TrialSummary trial, const Numbers& numbers) {
  trial.set_step(numbers.step);
  trial.set_target_steps(2000);
  trial.set_tokens_per_second(numbers.rate);
  trial.set_comm_ratio(0.25);
  trial.set_eta_seconds(static_cast<double>(2000 - numbers.step));
  trial.mutable_latest()->set_loss(numbers.loss);
  trial.mutable_latest()->set_rank_skew_seconds(numbers.skew_seconds);
  trial.mutable_latest()->set_slowest_rank(1);
  return trial;
}

inline v1::ExperimentSummary TopExperiment(uint64_t number, const std::string& name,
                                           v1::ExperimentState state) {
  v1::ExperimentSummary one;
  one.set_experiment(number);
  one.set_name(name);
  one.set_state(state);
  one.set_metric("val_loss");
  one.set_eta_seconds(-1);
  return one;
}

// Returns eight slots on two hosts: three gangs of two train or start, one worker is idle, one is
// lost.
inline TopState BusyCluster() {
  TopState state;
  state.address = "127.0.0.1:7600";
  state.program_version = "0.2.0";
  v1::ExperimentSummary running = TopExperiment(12, "gpt2-sweep", v1::EXPERIMENT_RUNNING);
  running.set_trials(40);
  running.set_finished(9);
  running.set_failed(1);
  running.set_running(3);
  running.set_pending(27);
  running.set_progress_ratio(0.31);
  running.set_best_trial(4);
  running.set_best_value(2.8712);
  running.set_eta_seconds(7500);
  v1::ExperimentSummary queued = TopExperiment(13, "ablation", v1::EXPERIMENT_QUEUED);
  queued.set_trials(130);
  queued.set_pending(130);
  state.experiments = {TopExperiment(11, "smoke", v1::EXPERIMENT_FINISHED), running, queued};

  state.live = {Training(TopTrial(12, 11, v1::TRIAL_RUNNING), {1200, 3.1042, 61234, 0.004}),
                Training(TopTrial(12, 12, v1::TRIAL_RUNNING), {340, 4.2200, 58900, 0.0312}),
                TopTrial(12, 13, v1::TRIAL_STARTING)};
  for (int i = 0; i < 3; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string name = absl::StrCat("gpu0", i < 2 ? 7 : 8, "/cuda:", i % 2 * 2 + rank);
      state.live[i].add_workers(name);
      v1::WorkerSummary& worker = state.workers.emplace_back();
      worker.set_worker(name);
      worker.set_host(absl::StrCat("gpu0", i < 2 ? 7 : 8));
      worker.set_device(absl::StrCat("cuda:", i % 2 * 2 + rank));
      worker.set_device_name("NVIDIA H200");
      worker.set_state("busy");
      worker.set_doing(absl::StrCat("12/", 11 + i, "#1 rank ", rank));
      worker.set_silence_seconds(0.4);
    }
  }
  for (const auto& [device, word] : {std::pair{"cuda:2", "idle"}, std::pair{"cuda:3", "lost"}}) {
    v1::WorkerSummary worker = state.workers.front();
    worker.set_worker(absl::StrCat("gpu08/", device));
    worker.set_host("gpu08");
    worker.set_device(device);
    worker.set_state(word);
    worker.clear_doing();
    worker.set_silence_seconds(worker.state() == "lost" ? 75 : 0.9);
    state.workers.push_back(worker);
  }
  const auto wait = [&state](uint64_t experiment, uint32_t from, uint32_t to,
                             const std::string& why) {
    for (uint32_t i = from; i <= to; ++i) {
      state.waiting.push_back(TopTrial(experiment, i, v1::TRIAL_PENDING));
      state.waiting.back().set_waiting(why);
    }
  };
  wait(12, 14, 14, "needs 2 slots of kind cuda, 1 is free; it is next");
  wait(12, 15, 38, "needs 2 slots of kind cuda, 1 is free; its place in the queue is behind 12/14");
  wait(12, 39, 39, "backs off 3 s before attempt 2");
  wait(12, 40, 40, "backs off 18 s before attempt 3");
  wait(13, 1, 100, "experiment runs 0 of at most 0 trials at once (search.max_concurrent)");
  return state;
}

inline std::string TextOf(const std::vector<Line>& lines) {
  std::string text = "\n";
  for (const Line& line : lines) {
    std::string rendered = RenderLine(line, Colour::kOff);
    rendered.erase(rendered.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, rendered, "\n");
  }
  return text;
}

}  // namespace dt::cli
