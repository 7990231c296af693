// extending.cc: how long a step of the core takes that extends a random search: it draws the
// further configurations, checks and resolves them. Nothing is written or sent.
//
// Bar: no step longer than 0.5 s of processor time (--bar), whatever the request: a lease is 10 s,
//      and the core must hear workers in between. Exit code 1 if a row misses it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/model/submission.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

// The share of draws that pass the checks.
enum class Space { kAll, kOneInSixteen };

v1::ExperimentSpec Drawn(Space space, int max_trials) {
  v1::ExperimentSpec spec = Searching("random", max_trials);
  if (space == Space::kAll) return spec;
  spec.mutable_base()->mutable_model()->set_n_head(16);
  v1::Parameter& width = *spec.add_parameters();
  width.set_path("model.n_embd");  // a multiple of n_head
  width.mutable_range()->set_min(16);
  width.mutable_range()->set_max(4096);
  return spec;
}

class Core {
 public:
  explicit Core(v1::ExperimentSpec spec) {
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(1);
    if (!Apply(state_.durable, created).ok()) std::abort();
    Recover(state_, now_);
    v1::SubmitRequest request;
    *request.mutable_spec() = std::move(spec);
    if (!Call({.reply = 1, .request = PrepareSubmission(request, DeviceKind::kCpu, 1)}).ok()) {
      std::abort();
    }
  }

  struct Extension {
    double seconds = 0;  // processor time
    std::string answer;
    size_t trials = 0;
  };
  Extension Extend(uint32_t max_trials) {
    v1::ChangeRequest change;
    change.set_experiment(1);
    change.set_max_trials(max_trials);
    const std::clock_t begin = std::clock();
    const absl::Status status = Call({.reply = 2, .request = change});
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return {seconds, status.ok() ? "taken" : std::string(status.message()),
            GetExperiment(state_.durable, 1).trials.size()};
  }

 private:
  absl::Status Call(ClientCall call) {
    Event event;
    event.what = std::move(call);
    event.entropy = {++entropy_, 0};
    now_.steady += absl::Microseconds(1);
    const Effects effects = Step(state_, std::move(event), now_);
    return effects.replies.empty() ? absl::OkStatus() : effects.replies.front().status;
  }

  Instant now_{absl::Seconds(1000), 1'700'000'000'000};
  State state_;
  uint64_t entropy_ = 0;
};

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  double bar = 0.5;
  CLI::App app("extending: what one step takes that draws the further trials of a random search");
  app.add_option("--bar", bar, "seconds of the processor that a step may take; 0.5");
  CLI11_PARSE(app, argc, argv);
  bool met = true;
  std::printf("%10s %6s %6s %8s %9s\n", "draws pass", "from", "to", "trials", "seconds");
  for (const dt::Space space : {dt::Space::kAll, dt::Space::kOneInSixteen}) {
    for (const auto& [from, to] : {std::pair(10, 110), std::pair(10, 1010), std::pair(10, 10'000),
                                   std::pair(9'000, 10'000)}) {
      const auto row = dt::Core(dt::Drawn(space, from)).Extend(static_cast<uint32_t>(to));
      std::printf("%10s %6d %6d %8zu %9.3f%s  %s\n", space == dt::Space::kAll ? "all" : "1 in 16",
                  from, to, row.trials, row.seconds, row.seconds <= bar ? "" : "  MISSED",
                  row.answer.c_str());
      std::fflush(stdout);
      met = met && row.seconds <= bar;
    }
  }
  return met ? 0 : 1;
}
