#include "coordinator/core/keep/orders.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/silence.h"
#include "coordinator/core/model/survivors.h"
#include "spec/program.h"
#include "spec/rungs.h"
#include "spec/search.h"

namespace dt {
namespace {

// Adds the rungs at which a search compares the trial. Its target is known once the data are read.
void AddRungs(const DurableState& durable, TrialId id, v1::Assigned& assigned) {
  const Experiment& experiment = GetExperiment(durable, id.experiment);
  if (IsPopulation(experiment)) {
    assigned.set_share_every(spec::PopulationOf(experiment.spec.search()).every);
  }
  if (!Climbs(experiment)) return;
  const spec::Ladder ladder = LadderOf(experiment);
  for (int rung = BracketOf(experiment, id.trial) + 1; rung <= ladder.rungs; ++rung) {
    assigned.add_validate_at(spec::DivisorOf(ladder, rung));
  }
}

// Adds the fields that a worker needs to fetch the code; the others are for users.
void AddCode(const v1::ExperimentSpec& spec, v1::Assigned& assigned) {
  if (!spec.has_code()) return;
  assigned.mutable_code()->set_digest(spec.code().digest());
  assigned.mutable_code()->set_bytes(spec.code().bytes());
  assigned.mutable_code()->set_files(spec.code().files());
}

// Adds the place in the gang for a program, under the names that torchrun uses.
void AddPlace(const LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
              int32_t rank, v1::Assigned& assigned) {
  std::vector<std::string> hosts;
  for (const GangMember& member : recorded.members) hosts.push_back(member.host);
  const NodePlace place = PlaceInGang(hosts, rank);
  assigned.set_local_world_size(static_cast<int32_t>(place.local_ranks.size()));
  assigned.set_node_rank(place.node);
  assigned.set_nodes(place.nodes);
  for (const int32_t node : place.node_ranks) assigned.add_node_ranks(node);
  for (const int32_t local : place.local_ranks) {
    const WorkerIndex worker = attempt.ranks[local].worker;
    assigned.add_local_devices(worker == kNoWorker ? "" : live.workers[worker].hello.gpu_uuid());
  }
}

void AddRescue(const LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
               int32_t rank, v1::Assigned& assigned) {
  assigned.set_peer_lost(true);
  if (!TakesPart(attempt, rank)) return;
  const int32_t saver = attempt.rescue->saver;
  assigned.set_rescue(true);
  assigned.set_meet_at(attempt.ranks[saver].meet_at);
  const auto told = live.told.find(attempt.token);
  uint64_t row = recorded.resumed_step;
  if (told != live.told.end()) row = std::max(row, told->second.row);
  if (Mutated(Mutant::kRescueWithoutRows)) row = std::max(row, attempt.step);
  assigned.set_rows_after(row);
}

v1::Assigned AssignedTo(const State& state, const Worker& worker) {
  const DurableState& durable = state.durable;
  const LiveAttempt& attempt = *worker.attempt;
  DT_CHECK(attempt.ranks[worker.rank].worker == worker.index);
  v1::Assigned assigned;
  assigned.set_experiment(attempt.id.trial.experiment);
  assigned.set_trial(attempt.id.trial.trial);
  assigned.set_attempt(attempt.id.attempt);
  assigned.set_attempt_token(attempt.token.ToBytes());
  assigned.set_rank(worker.rank);
  assigned.set_world_size(static_cast<int32_t>(attempt.ranks.size()));
  assigned.set_kill(attempt.Is<Cancelling>());
  const bool leaves = !attempt.Open() || !IsMember(durable, worker);
  assigned.set_abandon(leaves && !attempt.Is<Cancelling>() && !Mutated(Mutant::kAbandonForgotten));
  assigned.set_hang(assigned.abandon() && spec::IsProgram(attempt.spec) &&
                    std::any_of(attempt.ranks.begin(), attempt.ranks.end(),
                                [](const RankState& rank) { return rank.end == v1::CAUSE_HANG; }));
  if (leaves) return assigned;  // a leaving worker needs no more
  const Attempt& recorded = *FindAttempt(durable, attempt.id);
  if (attempt.rescue.has_value()) {
    AddRescue(state.live, attempt, recorded, worker.rank, assigned);
  } else {
    assigned.set_checkpoint_stop(attempt.saving);
  }
  *assigned.mutable_spec() = attempt.spec;
  assigned.set_local_rank(recorded.members[worker.rank].local_rank);
  if (recorded.resume.has_value()) *assigned.mutable_resume() = *recorded.resume;
  if (worker.rank > 0) assigned.set_store_address(attempt.store_address);
  AddRungs(durable, attempt.id.trial, assigned);
  AddCode(GetExperiment(durable, attempt.id.trial.experiment).spec, assigned);
  const Experiment& experiment = GetExperiment(durable, attempt.id.trial.experiment);
  assigned.set_metric(experiment.spec.search().metric());
  assigned.set_metric_goal(spec::GoalOf(experiment.spec.search()));
  if (spec::IsProgram(attempt.spec)) {
    AddPlace(state.live, attempt, recorded, worker.rank, assigned);
    assigned.set_environment(experiment.environment_lock);
    assigned.set_submitted_by(experiment.submitted_by);
    assigned.set_experiment_name(experiment.spec.name());
    const int64_t ran_ms = TrainedMsOf(GetTrial(durable, attempt.id.trial).attempts);
    assigned.set_ran_seconds(static_cast<double>(ran_ms) / 1000);
  }
  // A worker that removed a checkpoint may have been lost before it reported that.
  if (worker.rank > 0 || recorded.state != AttemptState::kAssigned) return assigned;
  for (const KnownCheckpoint& known : GetTrial(durable, attempt.id.trial).checkpoints) {
    if (known.ref.storage_id() != worker.hello.storage_id()) continue;
    *assigned.add_registered() = known.ref;
  }
  return assigned;
}

// Adds the question which other hosts of its gang this worker reaches.
void AddPeerCheck(const LiveState& live, const Worker& worker, v1::Orders& orders) {
  const LiveAttempt& attempt = *worker.attempt;
  const PeerQuestion& question = attempt.question;
  const bool asked =
      question.number > 0 && attempt.Open() &&
      std::find(question.open.begin(), question.open.end(), worker.rank) != question.open.end();
  if (!asked) return;
  orders.mutable_check()->set_number(question.number);
  for (const int32_t rank : FirstRanksOfHosts(live, attempt)) {
    if (rank == worker.rank) continue;
    if (orders.check().addresses_size() >= limits::kPeersPerCheck) break;
    orders.mutable_check()->add_addresses(PeerAddress(live, attempt, rank));
  }
}

}  // namespace

std::vector<int32_t> FirstRanksOfHosts(const LiveState& live, const LiveAttempt& attempt) {
  std::vector<int32_t> firsts;
  std::set<std::string_view> hosts;
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const WorkerIndex worker = attempt.ranks[rank].worker;
    if (worker == kNoWorker || !hosts.insert(live.workers[worker].hello.host()).second) continue;
    firsts.push_back(static_cast<int32_t>(rank));
  }
  return firsts;
}

std::string PeerPort(const LiveAttempt& attempt) {
  return SplitHostAndPort(attempt.store_address).port;
}

std::string PeerAddress(const LiveState& live, const LiveAttempt& attempt, int32_t rank) {
  const Worker& worker = live.workers[attempt.ranks[rank].worker];
  return absl::StrCat(worker.hello.data_address(), ":", PeerPort(attempt));
}

NodePlace PlaceInGang(const std::vector<std::string>& hosts, int32_t rank) {
  NodePlace place;
  std::vector<std::string> seen;
  for (size_t other = 0; other < hosts.size(); ++other) {
    auto known = std::find(seen.begin(), seen.end(), hosts[other]);
    if (known == seen.end()) known = seen.insert(seen.end(), hosts[other]);
    place.node_ranks.push_back(static_cast<int32_t>(known - seen.begin()));
    if (hosts[other] != hosts[rank]) continue;
    place.local_ranks.push_back(static_cast<int32_t>(other));
    place.node = static_cast<int32_t>(known - seen.begin());
  }
  place.nodes = static_cast<int32_t>(seen.size());
  return place;
}

bool IsMember(const DurableState& durable, const Worker& worker) {
  const Attempt* recorded = FindAttempt(durable, worker.attempt->id);
  return recorded != nullptr && recorded->members[worker.rank].instance == worker.instance;
}

void MarkOrdersDue(LiveState& live, Worker& worker) {
  if (worker.orders_due) return;
  worker.orders_due = true;
  live.orders_due.push_back(worker.index);
}

void MarkMembersDue(LiveState& live, const LiveAttempt& attempt) {
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker != kNoWorker) MarkOrdersDue(live, live.workers[rank.worker]);
  }
}

void PublishOrders(Turn& turn) {
  for (const WorkerIndex index : turn.live().orders_due) {
    Worker& worker = turn.live().workers[index];
    worker.orders_due = false;
    if (worker.stream == 0) continue;
    OrdersOut& out = turn.effects.orders.emplace_back();
    out.stream = worker.stream;
    out.orders.set_journal_id(turn.durable().journal_id);
    out.orders.set_acked_sequence(worker.acked + (Mutated(Mutant::kAcksAhead) ? 1 : 0));
    for (const std::string& token : worker.unknown_tokens) out.orders.add_unknown_tokens(token);
    out.orders.set_ping(NextPing(worker, turn.now.steady));
    if (worker.attempt != nullptr) {
      *out.orders.mutable_attempt() = AssignedTo(turn.state, worker);
      AddPeerCheck(turn.live(), worker, out.orders);
    }
  }
  turn.live().orders_due.clear();
}

}  // namespace dt
