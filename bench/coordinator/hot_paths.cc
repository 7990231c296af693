// hot_paths.cc: the cost of the coordinator's hot paths, on one thread and without sockets: bytes
// are read, checked, stepped, counted, committed to a SQLite journal, and answers written as bytes.
//
// Catalogue (each prints a row: microseconds of processor time for one of them):
//   submit     a trial of a grid of --trials (1,000): checked, resolved and queued
//   place      a trial from its orders to the next ones: started, prepared, run, ended; --workers
//              (64) report in turn
//   row        a row of metrics, in reports of 100
//   status     a call of GetStatus
//   summary    a call of ListExperiments for one experiment of --trials
//   replay     a record read again at a start
// Under valgrind --tool=callgrind it dumps the instructions of each, named so; hot_paths.py starts
// it there and compares them with those of the last release. They differ little from run to run,
// while times on a shared machine do.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/coordinator/step_rows.h"
#include "common/check.h"
#include "common/worker_level.h"
#include "coordinator/core/model/submission.h"
#include "coordinator/core/step.h"
#include "coordinator/loop/committer.h"
#include "coordinator/loop/restore.h"
#include "coordinator/metrics/metrics_model.h"
#include "coordinator/rpc/report_check.h"
#include "coordinator/rpc/wire.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/testing/experiments.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
// Without valgrind's header only the times are printed.
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace dt::bench {
namespace {

constexpr int kReportsPerCommit = 16;
constexpr int kRowsPerReport = 100;
constexpr int64_t kEndless = 1'000'000'000;

// Times a part of a phase, and lets callgrind count it.
class Measured {
 public:
  explicit Measured(std::clock_t& sum) : sum_(sum), begin_(std::clock()) {
    CALLGRIND_TOGGLE_COLLECT;
  }
  ~Measured() {
    CALLGRIND_TOGGLE_COLLECT;
    sum_ += std::clock() - begin_;
  }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

 private:
  std::clock_t& sum_;
  const std::clock_t begin_;
};

// A coordinator without sockets and threads: the core, its metrics and its journal.
class Bench {
 public:
  Bench(std::string folder, int workers) : folder_(std::move(folder)), sequences_(workers + 1, 0) {
    auto store = SqliteStore::Open(folder_, "bench");
    DT_CHECK_OK(store.status());
    store_ = *std::move(store);
    auto state = Restore(*store_, clock_, metrics_, [] {});
    DT_CHECK_OK(state.status());
    state_ = *std::move(state);
    for (int worker = 1; worker <= workers; ++worker) Connect(worker);
  }
  ~Bench() { DT_CHECK_OK(store_->Close()); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void Submit(int trials) {
    v1::SubmitRequest request;
    *request.mutable_spec() = Trials(trials);
    Measure([&] {
      Step({.what = ClientCall{.reply = 1,
                               .request = PrepareSubmission(request, DeviceKind::kCpu, 1)}});
      Commit();
    });
    Row("submit", trials);
    while (state_.live.placement_due) Step({.what = Tick{}});
    Commit();
  }

  // Ends all trials that were submitted.
  void Place() {
    int placed = 0;
    while (!orders_.empty()) {
      std::vector<grpc::ByteBuffer> reports;
      std::vector<StreamId> streams;
      while (!orders_.empty() && reports.size() < kReportsPerCommit) {
        const auto [stream, token] = Take();
        if (token.empty()) continue;
        streams.push_back(stream);
        reports.push_back(WriteMessage(EndOf(stream, token)));
      }
      placed += static_cast<int>(reports.size());
      Measure([&] { Report(streams, reports); });
    }
    Row("place", placed);
  }

  // Sends reports of rows from a trial that goes on for ever.
  void Rows(int reports) {
    v1::SubmitRequest request;
    *request.mutable_spec() = OneTrial();
    request.mutable_spec()->mutable_base()->mutable_train()->set_max_steps(kEndless);
    Step({.what =
              ClientCall{.reply = 1, .request = PrepareSubmission(request, DeviceKind::kCpu, 1)}});
    Commit();
    const auto [stream, token] = Take();
    Report({stream}, {WriteMessage(BeginOf(stream, token))});
    uint64_t next_step = 1;
    for (int done = 0; done < reports; done += kReportsPerCommit) {
      std::vector<grpc::ByteBuffer> some;
      for (int i = 0; i < kReportsPerCommit; ++i) {
        some.push_back(WriteMessage(RowsOf(stream, token, next_step)));
        next_step += kRowsPerReport;
      }
      Measure([&] { Report(std::vector<StreamId>(some.size(), stream), some); });
    }
    Row("row", reports * kRowsPerReport);
  }

  void Ask(const char* name, const ControlRequest& request, int calls) {
    Measure([&] {
      for (int i = 0; i < calls; ++i) {
        Step({.what = ClientCall{.reply = 1, .request = request}});
        Commit();
      }
    });
    Row(name, calls);
  }

  void Replay() {
    auto journal = OpenSqliteJournal(folder_);
    DT_CHECK_OK(journal.status());
    int records = 0;
    MetricsModel metrics(100);
    Measure([&] { DT_CHECK_OK(FoldJournal(**journal, metrics, [&] { ++records; }).status()); });
    Row("replay", records);
  }

 private:
  template <typename Work>
  void Measure(const Work& work) {
    const Measured measured(clocks_);
    work();
  }
  void Row(const char* name, int done) {
    std::printf("%-10s %8d %12.2f us\n", name, done,
                1e6 * static_cast<double>(std::exchange(clocks_, 0)) / CLOCKS_PER_SEC / done);
    std::fflush(stdout);
    CALLGRIND_DUMP_STATS_AT(name);
  }

  void Step(Event event) {
    event.entropy = {++entropy_, 0};
    now_.steady += absl::Microseconds(1);
    turn_.effects.push_back(dt::Step(state_, std::move(event), now_));
  }

  // Does what the loop and the committer do with the effects of a turn.
  void Commit() {
    for (const Effects& effects : turn_.effects) metrics_.CountTurn(state_, effects);
    std::vector<TurnEffects> turns;
    turns.push_back(std::exchange(turn_, {}));
    DT_CHECK_OK(store_->Commit(MakeBatch(turns)));
    for (Effects& effects : turns.front().effects) {
      for (const Reply& reply : effects.replies) {
        DT_CHECK_OK(reply.status);
        written_ += WriteMessage(*reply.response).Length();
      }
      for (const OrdersOut& out : effects.orders) {
        written_ += WriteMessage(out.orders).Length();
        orders_.emplace_back(out.stream, out.orders.has_attempt() && !out.orders.attempt().abandon()
                                             ? out.orders.attempt().attempt_token()
                                             : std::string());
      }
    }
  }

  void Report(const std::vector<StreamId>& streams, const std::vector<grpc::ByteBuffer>& reports) {
    for (size_t i = 0; i < reports.size(); ++i) {
      ReportReceived received{streams[i], "bench", {}, {}};
      DT_CHECK_OK(ReadMessage(reports[i], received.report));
      auto totals = CheckReport(received.report, ReportPlace::kLater);
      DT_CHECK_OK(totals.status());
      received.row_totals = *std::move(totals);
      Step({.what = std::move(received)});
    }
    Commit();
  }

  std::pair<StreamId, std::string> Take() {
    DT_CHECK(!orders_.empty());
    auto taken = std::move(orders_.front());
    orders_.pop_front();
    return taken;
  }

  void Connect(int worker) {
    ReportReceived received;
    received.stream = static_cast<StreamId>(worker);
    v1::Hello& hello = *received.report.mutable_hello();
    hello.set_worker(absl::StrCat("host", worker / 8, "/", worker % 8));
    hello.set_host(absl::StrCat("host", worker / 8));
    hello.set_instance(static_cast<uint64_t>(worker));
    hello.set_session(1);
    hello.set_device("cpu");
    hello.set_level(kWorkerLevel);
    hello.set_storage_id("bench");
    Step({.what = std::move(received)});
    Commit();
  }

  v1::Item& AddItem(StreamId stream, const std::string& token, v1::WorkerReport& report) {
    v1::Item& item = *report.add_items();
    item.set_sequence(++sequences_[stream]);
    item.set_attempt_token(token);
    return item;
  }
  v1::WorkerReport BeginOf(StreamId stream, const std::string& token) {
    v1::WorkerReport report;
    report.set_journal_id(state_.durable.journal_id);
    v1::Prepared& prepared = *AddItem(stream, token, report).mutable_prepared();
    prepared.set_target_steps(kEndless);
    prepared.set_data_fingerprint("bench");
    AddItem(stream, token, report).mutable_running();
    v1::AttemptStatus& status = *report.add_attempts();
    status.set_attempt_token(token);
    status.set_phase(v1::AttemptStatus::TRAINING);
    return report;
  }
  v1::WorkerReport EndOf(StreamId stream, const std::string& token) {
    v1::WorkerReport report = BeginOf(stream, token);
    report.mutable_items(0)->mutable_prepared()->set_target_steps(1);
    v1::Ended& ended = *AddItem(stream, token, report).mutable_ended();
    ended.set_cause(v1::CAUSE_FINISHED);
    ended.set_step(1);
    report.mutable_attempts(0)->set_phase(v1::AttemptStatus::GONE);
    return report;
  }
  v1::WorkerReport RowsOf(StreamId stream, const std::string& token, uint64_t first_step) {
    v1::WorkerReport report = BeginOf(stream, token);
    report.clear_items();
    sequences_[stream] -= 2;
    v1::RowChunk& chunk = *AddItem(stream, token, report).mutable_rows();
    chunk.set_first_step(first_step);
    chunk.set_last_step(first_step + kRowsPerReport - 1);
    chunk.set_count(kRowsPerReport);
    chunk.set_rows(MakeStepRows(first_step, kRowsPerReport).SerializeAsString());
    report.mutable_attempts(0)->set_step(chunk.last_step());
    return report;
  }

  const std::string folder_;
  SystemClock clock_;
  Instant now_{absl::Seconds(1000), 1'700'000'000'000};
  MetricsModel metrics_{100};
  std::unique_ptr<SqliteStore> store_;
  State state_;
  TurnEffects turn_;
  std::deque<std::pair<StreamId, std::string>> orders_;  // with the token of the attempt, if any
  std::vector<uint64_t> sequences_;                      // newest item by stream
  uint64_t entropy_ = 0;
  size_t written_ = 0;
  std::clock_t clocks_ = 0;
};

int Main(int argc, char** argv) {
  int trials = 1000;
  int workers = 64;
  CLI::App app("Counts what the coordinator's hot paths cost", "hot_paths");
  app.add_option("--trials", trials)->capture_default_str()->check(CLI::Range(100, 10000));
  app.add_option("--workers", workers)->capture_default_str()->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  std::string folder = std::filesystem::temp_directory_path() / "hot_paths_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  std::printf("compiler   %s\n", __VERSION__);
  {
    Bench bench(folder, workers);
    bench.Submit(trials);
    bench.Place();
    bench.Rows(10 * kReportsPerCommit);
    bench.Ask("status", v1::GetStatusRequest(), 100);
    v1::ListExperimentsRequest one;
    one.set_experiment(1);
    bench.Ask("summary", one, 100);
    bench.Replay();
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace dt::bench

int main(int argc, char** argv) { return dt::bench::Main(argc, argv); }
