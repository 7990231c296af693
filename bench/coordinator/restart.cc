// restart.cc: how long a start takes, from the start of the process to the first call that it could
// answer.
//
// Catalogue (each prints a row; defaults in parentheses). The journal has --trials (10,000) trials
// that ran, six records each, and --points (1,000,000) rows of metrics. With --method bayes and
// asha each trial is also a proposal; under asha it was entered at three rungs too. Bar: 2 s.
//   all records    no snapshot: every record is replayed
//   after a kill   the same, with a log to recover
//   snapshot       from the newest snapshot on
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/coordinator/child.h"
#include "bench/coordinator/step_rows.h"
#include "common/status.h"
#include "coordinator/loop/restore.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sqlite_store.h"
#include "spec/spec.h"

namespace dt::bench {
namespace {

struct Flags {
  std::string dtcoord;
  uint32_t trials = 10000;
  uint64_t points = 1000000;
  std::string method = "grid";
};
constexpr double kBarSeconds = 2;
constexpr uint32_t kRungs = 3;

constexpr uint32_t kTrialsPerCommit = 50;
constexpr uint64_t kRowsPerChunk = 100;

void Expand(uint32_t trial, v1::ExpandedTrial& expanded) {
  expanded.set_trial(trial);
  v1::Assignment& assignment = *expanded.add_assignments();
  assignment.set_path("optimizer.lr");
  assignment.mutable_value()->set_number(1e-6 * trial);
}

v1::Record Submitted(const Flags& flags) {
  v1::Record record;
  v1::ExperimentSubmitted& fact = *record.mutable_experiment_submitted();
  fact.set_experiment(1);
  fact.mutable_spec()->set_version(1);
  fact.mutable_spec()->set_name("bench");
  *fact.mutable_spec()->mutable_base() = spec::DefaultSpec();
  v1::Search& search = *fact.mutable_spec()->mutable_search();
  search.set_metric("val_loss");
  search.set_method(flags.method);
  if (flags.method == "grid") {
    for (uint32_t trial = 1; trial <= flags.trials; ++trial) Expand(trial, *fact.add_trials());
    return record;
  }
  search.set_max_trials(static_cast<int32_t>(flags.trials));
  fact.set_planned_trials(flags.trials);
  if (flags.method == "asha") {
    search.set_sampler("bayes");
    search.mutable_asha()->set_eta(3);
    search.mutable_asha()->set_rungs(kRungs);
    search.mutable_asha()->set_brackets(1);
  }
  v1::Parameter& rate = *fact.mutable_spec()->add_parameters();
  rate.set_path("optimizer.lr");
  rate.mutable_range()->set_min(1e-6);
  rate.mutable_range()->set_max(1e-2);
  rate.mutable_range()->set_scale("log");
  return record;
}

void AddProposal(uint32_t trial, std::vector<v1::Record>& records) {
  v1::TrialsAdded& added = *records.emplace_back().mutable_trials_added();
  added.set_experiment(1);
  added.set_origin(v1::TrialsAdded::SAMPLED);
  Expand(trial, *added.add_trials());
}

// Adds rungs as if all trials had reached the last one, which is the most that there can be to
// read.
void AddRungs(uint32_t trial, uint64_t steps, std::vector<v1::Record>& records) {
  uint64_t divisor = 27;
  for (uint32_t rung = 1; rung <= kRungs; ++rung, divisor /= 3) {
    v1::RungDecided& fact = *records.emplace_back().mutable_rung_decided();
    fact.set_experiment(1);
    fact.set_trial(trial);
    fact.set_attempt(1);
    fact.set_rung(rung);
    fact.set_step(std::max<uint64_t>(1, steps / divisor));
    fact.set_cost(3.25 + 1e-5 * trial);
    fact.set_goes_on(true);
  }
}

// Adds the life of a trial that ran once.
void AddTrial(const Flags& flags, uint32_t trial, uint64_t steps,
              std::vector<v1::Record>& records) {
  if (flags.method != "grid") AddProposal(trial, records);
  const auto subject = [&](auto* fact) {
    fact->set_experiment(1);
    fact->set_trial(trial);
    return fact;
  };
  auto* started = subject(records.emplace_back().mutable_attempt_started());
  started->set_attempt(1);
  std::string token(16, 'x');
  for (int i = 0; i < 4; ++i) token[static_cast<size_t>(i)] = static_cast<char>(trial >> (8 * i));
  started->set_token(token);
  started->set_reason("a free slot");
  v1::Member& member = *started->add_members();
  member.set_worker(absl::StrCat("host", trial % 1000, "/0"));
  member.set_host(absl::StrCat("host", trial % 1000));
  auto* prepared = subject(records.emplace_back().mutable_attempt_prepared());
  prepared->set_attempt(1);
  prepared->mutable_prepared()->set_target_steps(steps);
  subject(records.emplace_back().mutable_attempt_running())->set_attempt(1);
  if (flags.method == "asha") AddRungs(trial, steps, records);
  auto* evaluation = subject(records.emplace_back().mutable_evaluation());
  evaluation->set_attempt(1);
  evaluation->mutable_evaluation()->set_step(steps);
  evaluation->mutable_evaluation()->set_loss(3.25);
  auto* ended = subject(records.emplace_back().mutable_attempt_ended());
  ended->set_attempt(1);
  ended->set_cause(v1::CAUSE_FINISHED);
  ended->set_step(steps);
  ended->set_retry_after_ms(-1);
  auto* over = subject(records.emplace_back().mutable_trial_ended());
  over->set_state(v1::TRIAL_FINISHED);
  over->set_cause(v1::CAUSE_FINISHED);
}

ChunkToStore Rows(uint32_t trial, uint64_t first, uint64_t count) {
  ChunkToStore chunk;
  chunk.attempt = {{1, trial}, 1};
  chunk.first_step = first;
  chunk.last_step = first + count - 1;
  chunk.rows = MakeStepRows(first, count).SerializeAsString();
  return chunk;
}

absl::Status Fill(const Flags& flags, const std::string& state) {
  DT_ASSIGN_OR_RETURN(auto store, SqliteStore::Open(state, "bench"));
  MetricsModel metrics(1);
  DT_RETURN_IF_ERROR(Restore(*store, SystemClock(), metrics, [] {}).status());
  const v1::Record submitted = Submitted(flags);
  Batch first;
  first.records.push_back(&submitted);
  DT_RETURN_IF_ERROR(store->Commit(first));
  const uint64_t rows = std::max<uint64_t>(1, flags.points / flags.trials);
  for (uint32_t trial = 1; trial <= flags.trials;) {
    std::vector<v1::Record> records;
    std::vector<ChunkToStore> chunks;
    for (uint32_t i = 0; i < kTrialsPerCommit && trial <= flags.trials; ++i, ++trial) {
      AddTrial(flags, trial, rows, records);
      for (uint64_t step = 1; step <= rows; step += kRowsPerChunk) {
        chunks.push_back(Rows(trial, step, std::min(kRowsPerChunk, rows - step + 1)));
      }
    }
    Batch batch;
    for (const v1::Record& record : records) batch.records.push_back(&record);
    for (const ChunkToStore& chunk : chunks) batch.chunks.push_back(&chunk);
    DT_RETURN_IF_ERROR(store->Commit(batch));
  }
  return store->Close();
}

// Makes a snapshot as a running dtcoord does.
absl::Status AddSnapshot(const std::string& state) {
  DT_ASSIGN_OR_RETURN(auto store, SqliteStore::Open(state, "bench"));
  DT_ASSIGN_OR_RETURN(const auto journal, OpenSqliteJournal(state));
  const absl::Time start = absl::Now();
  DT_ASSIGN_OR_RETURN(StoredSnapshot snapshot, MakeSnapshot(*journal));
  std::printf("%-14s %8.2f s beside the core to make\n", "a snapshot",
              absl::ToDoubleSeconds(absl::Now() - start));
  store->OfferSnapshot(std::move(snapshot));
  DT_RETURN_IF_ERROR(store->Commit({}));
  return store->Close();
}

absl::Status Measure(const char* name, const Flags& flags, const std::string& folder, bool kill) {
  Child child;
  const absl::Time start = absl::Now();
  DT_RETURN_IF_ERROR(child.Start(flags.dtcoord, folder));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const Child::Usage usage = child.Measure();
  std::printf("%-14s %8.2f s (bar %.0f s%s) %8.2f s of processor time %8.0f MiB\n", name, seconds,
              kBarSeconds, seconds <= kBarSeconds ? "" : ": MISSED",
              absl::ToDoubleSeconds(usage.cpu), usage.peak_mib);
  std::fflush(stdout);
  kill ? child.Kill() : child.Stop();
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags, const std::string& folder) {
  const std::string state = folder + "/state";
  DT_RETURN_IF_ERROR(Fill(flags, state));
  std::printf("%s: %u trials, %llu points, journal of %.0f MiB\n", flags.method.c_str(),
              flags.trials, static_cast<unsigned long long>(flags.points),
              static_cast<double>(std::filesystem::file_size(state + "/journal.db")) / (1 << 20));
  DT_RETURN_IF_ERROR(Measure("all records", flags, folder, /*kill=*/true));
  DT_RETURN_IF_ERROR(Measure("after a kill", flags, folder, /*kill=*/false));
  DT_RETURN_IF_ERROR(AddSnapshot(state));
  return Measure("snapshot", flags, folder, /*kill=*/false);
}

int Main(int argc, char** argv) {
  Flags flags;
  flags.dtcoord = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../bin/dtcoord";
  CLI::App app("Times the start of a coordinator with a long journal", "coordinator_restart");
  app.add_option("--dtcoord", flags.dtcoord, "The program that is started")->capture_default_str();
  app.add_option("--trials", flags.trials)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--points", flags.points)->capture_default_str();
  app.add_option("--method", flags.method, "Of the search")
      ->capture_default_str()
      ->check(CLI::IsMember({"grid", "bayes", "asha"}));
  CLI11_PARSE(app, argc, argv);
  std::string folder = std::filesystem::temp_directory_path() / "coordinator_restart_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const absl::Status status = Run(flags, folder);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::filesystem::remove_all(folder);
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace dt::bench

int main(int argc, char** argv) { return dt::bench::Main(argc, argv); }
