// snapshot_test.cc: a snapshot gives back the same state, field by field.
#include "coordinator/core/facts/snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/core/facts/hash.h"

namespace dt {
namespace {

// Returns a trial with a different value in every field, so that a missing one changes the hash.
Trial FullTrial() {
  Trial trial;
  trial.state = v1::TRIAL_RUNNING;
  trial.cause = v1::CAUSE_HANG;
  trial.tries = {1, 2};
  trial.target_steps = 13;
  trial.retry_after_ms = 14;
  trial.ended_wall_ms = 15;
  trial.expanded = std::string("\x08\x02", 2);
  trial.prepared = "prepared";
  trial.last_loss = 1.5;
  trial.last_row = "row";
  trial.pace.set_tokens(16);
  trial.message = "message";
  trial.checkpoints.push_back({1, {}});
  trial.checkpoints[0].ref.set_path("4/2/a1/step-3");
  trial.evaluations.push_back({1, 17, 2.5, 0.25});
  trial.evaluations.push_back({1, 18, kNotANumber});
  Attempt& attempt = trial.attempts.emplace_back();
  attempt.token = *AttemptToken::FromBytes("0123456789abcdef");
  attempt.state = AttemptState::kEnded;
  attempt.cause = v1::CAUSE_OOM;
  attempt.deciding_rank = 3;
  attempt.members.push_back({"host/0", 21, "host", "cpu", 1});
  attempt.resume.emplace().set_step(22);
  attempt.resumed_step = 23;
  attempt.last_step = 24;
  attempt.reason = "reason";
  attempt.message = "end";
  attempt.started_wall_ms = 25;
  attempt.running_wall_ms = 26;
  attempt.ended_wall_ms = 27;
  attempt.trained_ms = 28;
  attempt.ran = true;
  attempt.progressed = true;
  attempt.uncharged = true;
  attempt.stop_why = v1::StopRequested::PAUSED;
  attempt.stop_reason = "experiment is paused by ann";
  attempt.stop_for = {29, 30};
  attempt.stop_slots = 31;
  return trial;
}

DurableState FullState() {
  DurableState state;
  state.journal_id = 0xD7;
  state.next_experiment = 9;
  Experiment& experiment = state.experiments[4];
  experiment.id = 4;
  experiment.request_id = "request";
  experiment.request_digest = "digest";
  experiment.spec.set_name("name");
  experiment.file_name = "file.yaml";
  experiment.file_text = "version: 1";
  experiment.submitted_wall_ms = 11;
  experiment.ended_wall_ms = 12;
  experiment.cancel_requested = true;
  experiment.pending = 1;
  experiment.active = 2;
  experiment.finished = 3;
  experiment.failed = 4;
  experiment.cancelled = 5;
  experiment.oom = 6;
  experiment.attempts = 7;
  experiment.planned = 8;
  experiment.search_ended = true;
  experiment.search_end = "the budget is spent";
  experiment.paused = true;
  experiment.paused_by = "ann";
  experiment.paused_why = "no data";
  experiment.edits.push_back({28, "ann", "paused"});
  experiment.resolved.set_seed(9);
  experiment.resolved_paths = {"optimizer.lr", "seed"};
  experiment.trials.resize(2);
  experiment.trials[1] = FullTrial();
  v1::NetworkFigure figure;
  figure.set_op("all_gather");
  figure.set_axis("shard");
  figure.set_ranks(4);
  figure.set_hosts(2);
  figure.set_bytes(32);
  figure.set_over("gloo");
  figure.set_seconds(0.5);
  state.figures[KeyOf("H100", figure)] = {figure, {4, 2}, 33};
  state.request_ids["request"] = 4;
  state.tokens.emplace(experiment.trials[1].attempts[0].token, AttemptId{{4, 2}, 1});
  return state;
}

TEST(SnapshotTest, EveryFieldComesBack) {
  const DurableState state = FullState();
  v1::MetricsMemory metrics;
  metrics.mutable_queue_wait()->set_sum(5);
  const auto loaded = LoadSnapshot(SaveSnapshot(state, metrics));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state));
  EXPECT_EQ(loaded->state.request_ids, state.request_ids);
  EXPECT_EQ(loaded->state.tokens, state.tokens);
  EXPECT_EQ(loaded->state.figures.begin()->first, state.figures.begin()->first);
  EXPECT_EQ(loaded->state.experiments.at(4).trials[1].last_loss, 1.5);
  EXPECT_EQ(loaded->metrics.queue_wait().sum(), 5);
}

TEST(SnapshotTest, PartsThatAreMissingOrForeignAreRefused) {
  std::vector<std::string> parts = SaveSnapshot(FullState(), {});
  ASSERT_EQ(parts.size(), 2u);
  v1::SnapshotHead later;
  ASSERT_TRUE(later.ParseFromString(parts[0]));
  later.set_version(later.version() + 1);
  EXPECT_EQ(LoadSnapshot({later.SerializeAsString(), parts[1]}).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "a later version's snapshot is no damage";
  EXPECT_EQ(LoadSnapshot({}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[0]}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[0], "\xff\xff"}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[1], parts[0]}).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace dt
