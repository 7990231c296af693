// scheduling.cc: the cost of a decision, by the length of the queue. Each row is a fleet of
// one-slot workers on which trials end at once: the core takes the end, chooses the next trial and
// starts it. Nothing is written or sent.
//
// Bars: the rate with 100,000 waiting trials (10,000 with a single experiment, its limit) is within
//       10 % of that with 1,000, whatever the number of experiments and of shapes; 15,000
//       placements/s (--bar). Exit code 1 if a row misses one, which it reports.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/worker_level.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/model/submission.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

constexpr int kWorkers = 64;

struct Case {
  int waiting = 0;
  int experiments = 0;
  int shapes = 0;
};

void AddShape(int shape, v1::Spec& base) {
  v1::Label& label = *base.mutable_resources()->add_labels();
  label.set_key(absl::StrCat("shape", shape));
  label.set_value("yes");
}

// A core with its fleet, and a report from each worker that its trial has ended.
class Fleet {
 public:
  explicit Fleet(const Case& what) {
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(1);
    if (!Apply(state_.durable, created).ok()) std::abort();
    Recover(state_, now_);
    for (int i = 0; i < what.experiments; ++i) Submit(what, i);
    for (int worker = 0; worker < kWorkers; ++worker) Connect(worker, what.shapes);
    while (state_.live.placement_due) Feed({.what = Tick{}});
  }

  // Returns placements per second of processor time, since the machine is shared.
  double Run(int placements) {
    sequences_.resize(kWorkers + 1, 0);
    const std::clock_t begin = std::clock();
    int made = 0;
    while (made < placements && !orders_.empty()) {
      const OrdersOut out = std::move(orders_.front());
      orders_.pop_front();
      if (!out.orders.has_attempt() || out.orders.attempt().abandon()) continue;
      Finish(out);
      ++made;
    }
    return made / (static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }

 private:
  void Feed(Event event) {
    event.entropy = {++entropy_, 0};
    now_.steady += absl::Microseconds(1);
    Effects effects = Step(state_, std::move(event), now_);
    for (OrdersOut& out : effects.orders) orders_.push_back(std::move(out));
  }

  void Submit(const Case& what, int index) {
    v1::SubmitRequest request;
    *request.mutable_spec() = Trials(what.waiting / what.experiments);
    AddShape(index % what.shapes, *request.mutable_spec()->mutable_base());
    ClientCall call{.reply = 1, .request = PrepareSubmission(request, DeviceKind::kCpu, 1)};
    Feed({.what = std::move(call)});
  }

  void Connect(int worker, int shapes) {
    ReportReceived received;
    received.stream = static_cast<StreamId>(worker + 1);
    v1::Hello& hello = *received.report.mutable_hello();
    hello.set_worker(absl::StrCat("w", worker));
    hello.set_host(absl::StrCat("h", worker / 8));
    hello.set_instance(static_cast<uint64_t>(worker + 1));
    hello.set_device("cpu");
    hello.set_level(kWorkerLevel);
    hello.set_session(1);
    for (int shape = 0; shape < shapes; ++shape) {
      v1::Label& label = *hello.add_labels();
      label.set_key(absl::StrCat("shape", shape));
      label.set_value("yes");
    }
    Feed({.what = std::move(received)});
  }

  void Finish(const OrdersOut& out) {
    ReportReceived received;
    received.stream = out.stream;
    v1::Item item;
    item.set_attempt_token(out.orders.attempt().attempt_token());
    item.mutable_prepared()->set_target_steps(1);
    *received.report.add_items() = item;
    item.mutable_running();
    *received.report.add_items() = item;
    item.mutable_ended()->set_cause(v1::CAUSE_FINISHED);
    item.mutable_ended()->set_step(1);
    *received.report.add_items() = item;
    for (v1::Item& each : *received.report.mutable_items()) {
      each.set_sequence(++sequences_[out.stream]);
    }
    Feed({.what = std::move(received)});
  }

  Instant now_{absl::Seconds(1000), 1'700'000'000'000};
  State state_;
  std::deque<OrdersOut> orders_;
  std::vector<uint64_t> sequences_;
  uint64_t entropy_ = 0;
};

// Returns the median of several fleets.
double Median(const Case& what, int placements, int rounds) {
  std::vector<double> rates;
  for (int round = 0; round < rounds; ++round) rates.push_back(Fleet(what).Run(placements));
  std::nth_element(rates.begin(), rates.begin() + rounds / 2, rates.end());
  return rates[static_cast<size_t>(rounds / 2)];
}

constexpr int kFew = 1000;
constexpr double kBarShare = 0.9;  // of the rate with a short queue

// Returns the longest queue: an experiment has at most kTrialsPerExperiment trials.
int Most(int experiments) {
  return std::min<int64_t>(100'000, int64_t{experiments} * limits::kTrialsPerExperiment);
}

std::string Verdict(double value, double bar) { return value >= bar ? "" : "  MISSED"; }

// Returns whether the row meets its bars.
bool PrintRow(const Case& what, double rate, double few, double bar) {
  std::string against;
  bool met = rate >= bar;
  if (what.waiting != kFew) {
    against = absl::StrFormat("  %3.0f %% of %d waiting (bar %.0f %%)%s", 100 * rate / few, kFew,
                              100 * kBarShare, Verdict(rate / few, kBarShare));
    met = met && rate / few >= kBarShare;
  }
  std::printf("%8d %12d %7d %14.0f (bar %.0f)%s%s\n", what.waiting, what.experiments, what.shapes,
              rate, bar, Verdict(rate, bar).c_str(), against.c_str());
  std::fflush(stdout);
  return met;
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  int placements = 800;
  int rounds = 5;
  double bar = 15'000;
  dt::Case only;
  CLI::App app("scheduling: placements a second, by how much waits");
  app.add_option("--placements", placements, "that are timed of each fleet, at most 900");
  app.add_option("--rounds", rounds, "fleets of each row, of which the median is told")
      ->check(CLI::PositiveNumber);
  app.add_option("--bar", bar, "placements a second that a row must reach; 15000");
  app.add_option("--waiting", only.waiting, "one row alone: so many trials wait, for a profiler");
  app.add_option("--experiments", only.experiments, "of that row")->check(CLI::PositiveNumber);
  app.add_option("--shapes", only.shapes, "of that row")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::printf("%8s %12s %7s %14s\n", "waiting", "experiments", "shapes", "placements/s");
  if (only.waiting > 0) {
    only.experiments = std::max(1, only.experiments);
    only.shapes = std::max(1, only.shapes);
    const double rate = dt::Median(only, placements, rounds);
    // There is no other row to compare it with.
    return dt::PrintRow(only, rate, rate, bar) ? 0 : 1;
  }
  bool met = true;
  for (const int experiments : {1, 10, 1000}) {
    for (const int shapes : {1, 8}) {
      if (shapes > experiments) continue;  // an experiment has one shape here
      double few = 0;
      for (const int waiting : {dt::kFew, dt::Most(experiments)}) {
        const dt::Case row{waiting, experiments, shapes};
        const double rate = dt::Median(row, placements, rounds);
        if (waiting == dt::kFew) few = rate;
        met = dt::PrintRow(row, rate, few, bar) && met;
      }
    }
  }
  return met ? 0 : 1;
}
