// load.cc: the load that one coordinator carries: simulated workers over real gRPC on loopback,
// dtcoord in a process of its own.
//
// Catalogue (each prints a row; defaults in parentheses, and the targets of the first version):
//   placements  --trials (10,000) one-step trials on --workers (1,000): placements/s      4,000
//   paced       --rate (2,500) reports of 100 rows a second: time from report to durable
//               acknowledgement; rows/s                                                 250,000
//   saturated   every worker sends reports of 100 rows, each once the last is durable:
//               rows/s made durable
// and with each: p99 of a status call every 10 ms (20 ms), the coordinator's processor time and
// memory (128 MiB).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/coordinator/child.h"
#include "bench/coordinator/sim_worker.h"
#include "common/net/grpc_settings.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "spec/spec.h"

namespace dt::bench {
namespace {

struct Flags {
  std::string dtcoord;
  int workers = 1000;
  int trials = 10000;
  int rate = 2500;
  double seconds = 10;
};

double Percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::unique_ptr<grpc::ClientContext> Deadline() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return context;
}

void Require(const grpc::Status& status, const char* doing) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", doing, status.error_message().c_str());
  std::exit(1);
}

void Await(const char* what, const std::function<bool()>& done) {
  const absl::Time end = absl::Now() + absl::Minutes(5);
  while (!done()) {
    if (absl::Now() > end) {
      std::fprintf(stderr, "gave up waiting: %s\n", what);
      std::exit(1);
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
}

// Calls GetStatus on a connection of its own at fixed times, and records how long after its time
// each answer came. While the coordinator stands still, calls become due and count, as people's
// calls would.
class StatusProbe {
 public:
  explicit StatusProbe(const std::string& address)
      : stub_(v1::Control::NewStub(grpc::CreateCustomChannel(
            address, grpc::InsecureChannelCredentials(), ClientChannelArguments()))) {
    for (int i = 0; i < kCallers; ++i) {
      callers_.emplace_back([this, first = absl::Now() + i * kPeriod / kCallers] { Run(first); });
    }
  }
  ~StatusProbe() {
    ended_.store(true);
    for (std::thread& caller : callers_) caller.join();
  }
  std::vector<double> Take() {
    MutexLock lock(&mutex_);
    return std::exchange(seconds_, {});
  }

 private:
  // All callers together make a call every 10 ms.
  static constexpr int kCallers = 16;
  static constexpr absl::Duration kPeriod = absl::Milliseconds(160);

  void Run(absl::Time first) {
    for (absl::Time due = first; !ended_.load(); due += kPeriod) {
      absl::SleepFor(due - absl::Now());
      v1::GetStatusResponse response;
      Require(stub_->GetStatus(Deadline().get(), {}, &response), "status");
      {
        MutexLock lock(&mutex_);
        seconds_.push_back(absl::ToDoubleSeconds(absl::Now() - due));
      }
    }
  }

  std::unique_ptr<v1::Control::Stub> stub_;
  std::atomic<bool> ended_{false};
  Mutex mutex_;
  std::vector<double> seconds_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> callers_;
};

class Load {
 public:
  Load(const Flags& flags, Child& child)
      : flags_(flags),
        child_(child),
        control_(v1::Control::NewStub(grpc::CreateCustomChannel(
            child.address(), grpc::InsecureChannelCredentials(), ClientChannelArguments()))),
        probe_(child.address()) {}

  void Connect() {
    const absl::Time start = absl::Now();
    for (int i = 0; i < flags_.workers; ++i) {
      grpc::ChannelArguments arguments = ClientChannelArguments();
      arguments.SetInt("bench.worker", i);  // different arguments give each its own connection
      workers_.push_back(std::make_unique<SimWorker>(
          fleet_,
          grpc::CreateCustomChannel(child_.address(), grpc::InsecureChannelCredentials(),
                                    arguments),
          i));
      workers_.back()->Connect();
    }
    Await("the workers to connect", [&] { return Status().workers() >= Count(); });
    std::printf("%d workers connected in %.2f s; %.0f MiB\n\n", flags_.workers,
                absl::ToDoubleSeconds(absl::Now() - start), child_.Measure().resident_mib);
    heartbeats_ = std::thread([this] {
      // A tenth of the fleet at a time, since the clocks of real workers differ.
      for (size_t turn = 0; !ended_.load(); ++turn) {
        for (size_t i = turn % 10; i < workers_.size(); i += 10) workers_[i]->Heartbeat();
        absl::SleepFor(absl::Milliseconds(100));
      }
    });
    std::printf("%-12s %14s %12s %12s %12s %12s %12s %10s %10s\n", "", "rate", "status p50",
                "status p99", "status max", "ack p50", "ack p99", "CPU", "memory");
  }

  void Placements() {
    Begin();
    const uint64_t experiment = Submit(flags_.trials, 1);
    Await("the trials to end", [&] { return Finished(experiment) >= flags_.trials; });
    Row("placements", static_cast<double>(flags_.trials), "trials/s", {});
  }

  void Paced() {
    fleet_.conduct.store(Conduct::kSendWhenTold);
    const uint64_t experiment = Submit(flags_.workers, 1'000'000'000);
    Await("the trials to train", [&] { return fleet_.training.load() >= flags_.workers; });
    Begin();
    const absl::Time start = absl::Now();
    const int reports = static_cast<int>(flags_.rate * flags_.seconds);
    int late = 0;
    for (int i = 0; i < reports; ++i) {
      absl::SleepFor(start + absl::Seconds(static_cast<double>(i) / flags_.rate) - absl::Now());
      if (!workers_[static_cast<size_t>(i) % workers_.size()]->SendRows()) ++late;
    }
    Await("the last acknowledgements", [&] {
      return fleet_.rows_acked.load() - rows_before_ >=
             static_cast<uint64_t>(reports - late) * static_cast<uint64_t>(fleet_.rows_per_report);
    });
    Row("paced", static_cast<double>(fleet_.rows_acked.load() - rows_before_), "rows/s",
        Latencies());
    if (late > 0) std::printf("  %d reports were not sent: the one before was under way\n", late);
    Cancel(experiment);
  }

  void Saturated() {
    fleet_.conduct.store(Conduct::kStreamRows);
    const uint64_t experiment = Submit(flags_.workers, 1'000'000'000);
    Await("the trials to train", [&] { return fleet_.training.load() >= flags_.workers; });
    Begin();
    absl::SleepFor(absl::Seconds(flags_.seconds));
    Row("saturated", static_cast<double>(fleet_.rows_acked.load() - rows_before_), "rows/s",
        Latencies());
    Cancel(experiment);
  }

  void Stop() {
    ended_.store(true);
    heartbeats_.join();
    for (auto& worker : workers_) worker->Stop();
    const Child::Usage usage = child_.Measure();
    std::printf("\npeak memory %.0f MiB; %d streams lost\n", usage.peak_mib, fleet_.lost.load());
  }

 private:
  uint32_t Count() const { return static_cast<uint32_t>(flags_.workers); }
  v1::GetStatusResponse Status() {
    v1::GetStatusResponse response;
    Require(control_->GetStatus(Deadline().get(), {}, &response), "status");
    return response;
  }
  int Finished(uint64_t experiment) {
    v1::ListExperimentsRequest request;
    request.set_experiment(experiment);
    v1::ListExperimentsResponse response;
    Require(control_->ListExperiments(Deadline().get(), request, &response), "list");
    absl::SleepFor(absl::Milliseconds(50));
    return static_cast<int>(response.experiments(0).finished());
  }

  uint64_t Submit(int trials, int64_t steps) {
    v1::SubmitRequest request;
    request.set_request_id(absl::StrCat("bench ", ++submits_));
    v1::ExperimentSpec& spec = *request.mutable_spec();
    spec.set_version(1);
    spec.set_name("bench");
    *spec.mutable_base() = spec::DefaultSpec();
    spec.mutable_base()->mutable_data()->set_train("*_train_*.bin");
    spec.mutable_base()->mutable_data()->set_val("*_val_*.bin");
    spec.mutable_base()->mutable_resources()->set_device("cpu");
    spec.mutable_base()->mutable_train()->set_max_steps(steps);
    spec.mutable_search()->set_method("grid");
    spec.mutable_search()->set_metric("val_loss");
    spec.mutable_search()->set_goal("minimize");
    // A square, or nearly so, of two parameters.
    int width = 1;
    while (width * width < trials) ++width;
    while (trials % width != 0) ++width;
    AddParameter(spec, "optimizer.lr", trials / width);
    AddParameter(spec, "optimizer.weight_decay", width);
    v1::SubmitResponse response;
    Require(control_->Submit(Deadline().get(), request, &response), "submit");
    return response.experiment();
  }
  static void AddParameter(v1::ExperimentSpec& spec, const char* path, int values) {
    v1::Parameter& parameter = *spec.add_parameters();
    parameter.set_path(path);
    for (int i = 1; i <= values; ++i) parameter.add_values()->set_number(1e-6 * i);
  }
  void Cancel(uint64_t experiment) {
    v1::CancelRequest request;
    request.set_experiment(experiment);
    v1::CancelResponse response;
    Require(control_->Cancel(Deadline().get(), request, &response), "cancel");
    Await("the trials to stop", [&] { return fleet_.training.load() == 0; });
  }

  // Starts a measurement; earlier calls and reports do not count.
  void Begin() {
    probe_.Take();
    Latencies();
    before_ = child_.Measure();
    rows_before_ = fleet_.rows_acked.load();
    started_ = absl::Now();
  }
  std::vector<double> Latencies() {
    std::vector<double> all;
    for (auto& worker : workers_) {
      const std::vector<double> some = worker->TakeLatencies();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  void Row(const char* name, double done, const char* unit, const std::vector<double>& acks) {
    const double took = absl::ToDoubleSeconds(absl::Now() - started_);
    const Child::Usage usage = child_.Measure();
    const std::vector<double> status = probe_.Take();
    const auto ms = [](double seconds) {
      return absl::StrCat(std::round(seconds * 1e5) / 100, " ms");
    };
    std::printf("%-12s %7.0f %-8s %12s %12s %12s %12s %12s %8.0f %% %6.0f MiB\n", name, done / took,
                unit, ms(Percentile(status, 0.5)).c_str(), ms(Percentile(status, 0.99)).c_str(),
                ms(Percentile(status, 1)).c_str(),
                acks.empty() ? "" : ms(Percentile(acks, 0.5)).c_str(),
                acks.empty() ? "" : ms(Percentile(acks, 0.99)).c_str(),
                absl::ToDoubleSeconds(usage.cpu - before_.cpu) / took * 100, usage.resident_mib);
    std::printf("%-12s %.1f us of processor time each\n", "",
                absl::ToDoubleMicroseconds(usage.cpu - before_.cpu) / done);
    std::fflush(stdout);
  }

  const Flags flags_;
  Child& child_;
  Fleet fleet_;
  std::unique_ptr<v1::Control::Stub> control_;
  StatusProbe probe_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::thread heartbeats_;
  std::atomic<bool> ended_{false};
  int submits_ = 0;
  absl::Time started_;
  Child::Usage before_;
  uint64_t rows_before_ = 0;
};

int Main(int argc, char** argv) {
  Flags flags;
  flags.dtcoord = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../bin/dtcoord";
  CLI::App app("Loads one coordinator with simulated workers over real gRPC", "coordinator_load");
  app.add_option("--dtcoord", flags.dtcoord, "The program under load")->capture_default_str();
  app.add_option("--workers", flags.workers)->capture_default_str()->check(CLI::Range(1, 20000));
  app.add_option("--trials", flags.trials)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--rate", flags.rate, "Reports a second when paced")->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Of the phases with rows")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::string folder = std::filesystem::temp_directory_path() / "coordinator_load_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  Child child;
  const absl::Status started = child.Start(flags.dtcoord, folder);
  if (started.ok()) {
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    Load load(flags, child);
    load.Connect();
    load.Placements();
    load.Paced();
    load.Saturated();
    load.Stop();
  } else {
    std::fprintf(stderr, "%s\n", started.ToString().c_str());
  }
  std::filesystem::remove_all(folder);
  return started.ok() ? 0 : 1;
}

}  // namespace
}  // namespace dt::bench

int main(int argc, char** argv) { return dt::bench::Main(argc, argv); }
