// survivors.cc: trainers of a broken gang that keep their state, and save it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/replicas.h"
#include "common/rescue_limits.h"
#include "tests/sim/trainers.h"

namespace dt::sim {
namespace {

ReplicaShape ReplicasOf(const frames::Start& start) {
  const auto tensor = std::max(1, start.spec.at("parallel").at("tensor").get<int32_t>());
  return {.replicas = start.world_size / tensor, .tensor = tensor};
}

// Returns the ranks of the replica of which this rank is.
std::vector<int32_t> ReplicaAround(const frames::Start& start) {
  const ReplicaShape shape = ReplicasOf(start);
  return RanksOf(shape, ReplicaOf(shape, start.rank));
}

// Returns where the ranks of a replica meet whose first rank is this process.
std::string MeetingOf(int process) { return absl::StrCat("10.0.0.1:", 30000 + process); }

}  // namespace

void Trainers::Hold(Process& process) {
  if (!process.busy || process.holds || process.saves) return;
  if (process.leaving) return End(process, "cancelled", "stopped");
  Gang& gang = gangs_[process.start.token];
  const auto started = process.start.resume ? process.start.resume->step : 0;
  const ReplicaShape shape = ReplicasOf(process.start);
  // A peer may have died between the update of one replica and that of another, and rarely of one
  // rank of a replica and another.
  const auto [behind, drawn] = gang.behind.try_emplace(ReplicaOf(shape, process.start.rank), false);
  if (drawn) behind->second = gang.step > 0 && dice_.Chance(0.3);
  const bool apart = gang.step > 0 && shape.tensor > 1 && dice_.Chance(0.1);
  process.step = gang.step - (behind->second != apart ? 1 : 0);
  if (shape.replicas < 2 || process.step <= started || dice_.Chance(0.1)) {
    return End(process, "collective", "connection closed by peer");
  }
  process.holds = true;
  Later(process, limits::kRescueOrder, [this](Process& self) {
    if (self.holds) End(self, "collective", "connection closed by peer");
  });
  frames::Holds holds{process.start.token, process.step, 0, ""};
  if (shape.tensor > 1 && process.start.rank == ReplicaAround(process.start).front()) {
    holds.meet_at = MeetingOf(process.id);
  }
  Tell_(process, std::move(holds));
}

void Trainers::Take(Process& process, const frames::Rescue& rescue) {
  if (!process.busy || process.start.token != rescue.token) return;
  if (!process.holds) {
    complain_(absl::StrCat("worker ", process.worker, " is to save what it does not hold"));
    return;
  }
  process.holds = false;
  process.saves = true;
  const std::vector<int32_t> ranks = ReplicaAround(process.start);
  const Process* first = Rank(gangs_[rescue.token], static_cast<size_t>(ranks.front()));
  if (ranks.size() > 1 && first != nullptr) CheckMeeting(process, *first, rescue);
  if (dice_.Chance(faults_.stuck_in_collective)) return;  // the disk hangs: it is killed
  process.met = true;
  process.patience_until = scheduler_.Now().steady + limits::kReplicaPatience;
  if (process.start.rank != ranks.front()) return;
  Later(process, dice_.Between(absl::Milliseconds(1), absl::Seconds(4)),
        [this, from = rescue.rows_after](Process& self) { SaveTogether(self, from); });
}

void Trainers::CheckMeeting(const Process& process, const Process& first,
                            const frames::Rescue& rescue) {
  if (rescue.meet_at != MeetingOf(first.id)) {
    complain_(absl::StrCat("worker ", process.worker, " is to meet its replica at '",
                           rescue.meet_at, "'; its first rank is at '", MeetingOf(first.id), "'"));
  }
  if (first.step != process.step) {
    complain_(absl::StrCat("worker ", process.worker, " is to give its part of step ", process.step,
                           " to worker ", first.worker, ", which holds step ", first.step));
  }
}

void Trainers::SaveTogether(Process& process, uint64_t rows_after) {
  if (!process.busy) return;
  Gang& gang = gangs_[process.start.token];
  const std::vector<int32_t> ranks = ReplicaAround(process.start);
  for (const int32_t rank : ranks) {
    const Process* peer = Rank(gang, static_cast<size_t>(rank));
    if (peer != nullptr && peer->met) continue;
    if (scheduler_.Now().steady >= process.patience_until) {
      return End(process, "collective", "a rank of the replica did not come");
    }
    return Later(process, kLooksAgain,
                 [this, rows_after](Process& self) { SaveTogether(self, rows_after); });
  }
  const int id = process.id;
  // Rank 0 has reported its rows.
  const uint64_t last = process.start.rank == 0 ? 0 : process.step;
  for (uint64_t step = rows_after + 1; process.busy && step <= last; ++step) {
    TellRow(process, step);
    if (Find(id) == nullptr) return;
  }
  SaveHeld(process);
  for (const int32_t rank : ranks) {
    Process* left = Rank(gang, static_cast<size_t>(rank));
    if (left != nullptr && left->busy) End(*left, "collective", "closed by peer");
  }
}

void Trainers::SaveHeld(const Process& process) {
  const bool saved =
      process.start.rank == 0 && gangs_[process.start.token].saved_step == process.step;
  if (!process.busy || saved) return;
  frames::CheckpointDone done;
  done.token = process.start.token;
  done.step = process.step;
  done.path = PathOf(process.start, process.step);
  storages_[process.storage_id][done.path] = process.step;
  Tell_(process, done);
}

}  // namespace dt::sim
