// trainers.cc: how fake trainers use their frames and their time.
#include "tests/sim/trainers.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/shares.h"

namespace dt::sim {
namespace {

constexpr uint64_t kEvalEvery = 5;
constexpr uint64_t kCheckpointEvery = 7;
constexpr size_t kCheckpointsKept = 2;
// Returns the distance of the learning rate from the best one.
double Worse(const frames::Start& start) {
  const nlohmann::json& rate = start.spec.at("optimizer").at("lr");
  return std::abs(std::log10(rate.get<double>()) + 3);
}

// Returns whether its loss is NaN at every other step.
bool Diverges(const frames::Start& start) {
  return start.spec.at("optimizer").at("lr").get<double>() > 3e-2;
}

// Returns whether the members of a population are compared at `step`.
bool AtShare(const frames::Start& start, uint64_t step, uint64_t target) {
  const std::vector<uint64_t> shares = ShareSteps(start.share_every, target);
  return std::binary_search(shares.begin(), shares.end(), step);
}

// Its steps take long, and it reports even longer ones: estimates are sometimes wrong.
bool IsSlow(const frames::Start& start) {
  return start.spec.at("train").at("batch_size").get<int>() == kSlowBatch;
}

uint64_t TargetOf(const frames::Start& start) {
  const nlohmann::json& steps = start.spec.at("train").at("max_steps");
  return steps.is_string() ? std::stoull(steps.get<std::string>()) : steps.get<uint64_t>();
}

}  // namespace

void Trainers::Spawn(int worker, const std::string& storage_id) {
  if (by_worker_.contains(worker)) {
    complain_(absl::StrCat("worker ", worker, " starts a second trainer beside a live one"));
    return;
  }
  if (dice_.Chance(faults_.bad_starts)) {
    scheduler_.After(absl::Milliseconds(1),
                     [this, worker] { tell_(worker, TrainerStartFailed{"no such file"}); });
    return;
  }
  Process process;
  process.id = ++next_id_;
  process.worker = worker;
  process.storage_id = storage_id;
  by_worker_[worker] = process.id;
  processes_[process.id] = process;
  Later(processes_[process.id], dice_.Between(absl::Milliseconds(20), absl::Milliseconds(400)),
        [this](Process& self) {
          frames::Hello hello;
          Tell_(self, hello);
          if (self.alive) Tell_(self, frames::Idle{});
        });
}

void Trainers::Send(int worker, const frames::ToTrainer& frame) {
  Process* process = Of(worker);
  if (process == nullptr) return;
  std::visit([this, process](const auto& each) { Take(*process, each); }, frame);
}

void Trainers::Take(Process& process, const frames::Start& start) {
  if (process.busy) {
    complain_(absl::StrCat("worker ", process.worker, " starts ", start.token,
                           " on a trainer that is in ", process.start.token));
    return;
  }
  // Orders to leave an attempt have no specification.
  if (!start.spec.contains("train")) {
    complain_(absl::StrCat("worker ", process.worker, " starts ", start.token,
                           " without a specification: its orders are to leave"));
    return;
  }
  process.busy = true;
  process.start = start;
  process.prepared = process.leaving = process.holds = process.saves = process.met = false;
  process.address = start.store_address;
  if (start.resume.has_value() && start.rank == 0) {
    const auto& files = storages_[process.storage_id];
    const auto found = files.find(start.resume->path);
    if (found == files.end() || found->second != start.resume->step) {
      complain_(absl::StrCat("attempt of ", start.experiment, "/", start.trial,
                             " is to resume from ", start.resume->path,
                             ", which is not on storage ", process.storage_id));
      return;
    }
  }
  Later(process, dice_.Between(absl::Milliseconds(5), absl::Milliseconds(200)),
        [this](Process& self) { Prepare(self); });
}

void Trainers::Prepare(Process& process) {
  if (faults_.broken_worker && process.worker == 0) return Reap(process, SIGSEGV);
  if (dice_.Chance(faults_.bad_starts)) {
    End(process, dice_.Chance(0.5) ? "oom" : "config", "planted");
    return;
  }
  const frames::Start& start = process.start;
  process.prepared = true;
  frames::Prepared prepared;
  prepared.token = start.token;
  prepared.target_steps = TargetOf(start);
  prepared.data_fingerprint = "data";
  Gang& gang = gangs_[start.token];
  gang.token = start.token;
  gang.ranks.resize(static_cast<size_t>(start.world_size));
  gang.target = prepared.target_steps;
  if (start.rank == 0) gang.step = start.resume.has_value() ? start.resume->step : 0;
  const int id = process.id;
  Tell_(process, prepared);
  Process* self = Find(id);
  if (self == nullptr || !self->busy) return;
  if (start.rank > 0) {
    if (!self->address.empty()) Join(*self);
    return;
  }
  Later(*self, absl::Milliseconds(5), [this](Process& rank0) {
    Gang& own = gangs_[rank0.start.token];
    own.address = absl::StrCat("10.0.0.", rank0.worker, ":", 20000 + rank0.id);
    Join(rank0);
    Tell_(rank0, frames::StoreUp{rank0.start.token, gangs_[rank0.start.token].address});
  });
}

void Trainers::Take(Process& process, const frames::Connect& connect) {
  if (!process.busy || process.start.token != connect.token) return;
  process.address = connect.store_address;
  if (process.prepared) Join(process);
}

void Trainers::Join(Process& process) {
  Gang& gang = gangs_[process.start.token];
  if (process.start.rank > 0 && process.address != gang.address) {
    complain_(absl::StrCat("rank ", process.start.rank, " of ", process.start.token,
                           " connects to '", process.address, "'; rank 0 is at '", gang.address,
                           "'"));
    return;
  }
  int& place = gang.ranks[static_cast<size_t>(process.start.rank)];
  if (place != 0 && place != process.id) {
    complain_(
        absl::StrCat("two processes are rank ", process.start.rank, " of ", process.start.token));
    return;
  }
  place = process.id;
  if (gang.running || std::count(gang.ranks.begin(), gang.ranks.end(), 0) > 0) return;
  gang.running = true;
  const std::string token = process.start.token;
  scheduler_.After(absl::Milliseconds(5), [this, token] { Begin(token); });
}

bool Trainers::Waits(const Gang& gang) {
  const absl::Duration now = scheduler_.Now().steady;
  for (size_t rank = 0; rank < gang.ranks.size(); ++rank) {
    const Process* one = Rank(gang, rank);
    if (one == nullptr) return false;
    if (network_.StillUntil(one->worker) > now) return true;
    for (size_t peer = 0; peer < rank; ++peer) {
      const Process* other = Rank(gang, peer);
      if (other != nullptr && !network_.Reaches(one->worker, other->worker)) return true;
    }
  }
  return false;
}

void Trainers::Begin(const std::string& token) {
  Gang& ready = gangs_[token];
  if (Waits(ready)) {
    scheduler_.After(kLooksAgain, [this, token] { Begin(token); });
    return;
  }
  for (size_t rank = 0; rank < ready.ranks.size(); ++rank) {
    Process* member = Rank(ready, rank);
    if (member != nullptr) Tell_(*member, frames::Running{token, ready.step});
  }
  MakeStep(token);
}

void Trainers::AnnouncePause(Gang& gang, Process& process) {
  if (faults_.long_saves <= 0) return;
  const bool takes_long = gang.pauses++ > 0 && dice_.Chance(faults_.long_saves);
  gang.pause = takes_long ? dice_.Between(absl::Seconds(15), absl::Seconds(50))
                          : dice_.Between(absl::Milliseconds(5), absl::Milliseconds(90));
  gang.pausing = true;
  frames::Progress progress{process.start.token, gang.step};
  progress.pauses = true;
  Tell_(process, std::move(progress));
}

void Trainers::MakeStep(const std::string& token) {
  Gang& gang = gangs_[token];
  if (gang.broken) return;
  if (Waits(gang)) {
    scheduler_.After(kLooksAgain, [this, token] { MakeStep(token); });
    return;
  }
  if (std::exchange(gang.pausing, false)) {
    if (Process* root = Rank(gang, 0)) Tell_(*root, frames::Progress{token, gang.step});
  }
  for (size_t rank = 0; rank < gang.ranks.size(); ++rank) {
    if (Rank(gang, rank) == nullptr) return Break(token);
  }
  if (gang.step >= gang.target) {
    gang.broken = true;
    for (size_t rank = gang.ranks.size(); rank-- > 0;) {
      Later(*Rank(gang, rank), dice_.Between(absl::Milliseconds(1), absl::Milliseconds(80)),
            [this](Process& self) { End(self, "finished", ""); });
    }
    return;
  }
  ++gang.step;
  TellStep(gang, token);
  absl::Duration step_time = dice_.Between(absl::Milliseconds(100), absl::Milliseconds(700));
  if (IsSlow(Rank(gang, 0)->start)) step_time *= 8;
  step_time += std::exchange(gang.pause, absl::ZeroDuration());
  scheduler_.After(step_time, [this, token] { MakeStep(token); });
}

void Trainers::TellStep(Gang& gang, const std::string& token) {
  Process* rank0 = Rank(gang, 0);
  const double step = static_cast<double>(gang.step);
  logged_[token].push_back(gang.step);
  TellRow(*rank0, gang.step);
  for (size_t rank = 1; rank < gang.ranks.size(); ++rank) {
    if (Process* member = Rank(gang, rank)) Tell_(*member, frames::Progress{token, gang.step});
  }
  rank0 = Rank(gang, 0);
  if (rank0 != nullptr && (gang.step % kEvalEvery == 0 || AtRung(rank0->start, gang))) {
    // The loss falls, but not at every validation.
    const double bump = 0.4 * static_cast<double>(gang.step * 7 % 5);
    double loss = 5.0 / (1.0 + step) + bump + Worse(rank0->start);
    if (Diverges(rank0->start) && gang.step % 2 == 0) loss = std::nan("");
    Tell_(*rank0, frames::Eval{.token = token, .step = gang.step, .loss = loss});
  }
  rank0 = Rank(gang, 0);
  if (rank0 == nullptr) return;
  const bool share = AtShare(rank0->start, gang.step, gang.target);
  if (!share && gang.step % kCheckpointEvery != 0) return;
  AnnouncePause(gang, *rank0);
  if (Process* root = Rank(gang, 0)) Save(gang, *root);
}

void Trainers::TellRow(const Process& process, uint64_t step) {
  nlohmann::json row{{"step", step},
                     {"loss", 10.0 / (1.0 + static_cast<double>(step))},
                     {"steps", 1.0},
                     {"tokens", 100.0},
                     {"seconds", IsSlow(process.start) ? 60.0 : 0.4}};
  Tell_(process, frames::StepDone{process.start.token, std::move(row)});
}

bool Trainers::AtRung(const frames::Start& start, const Gang& gang) {
  if (AtShare(start, gang.step, gang.target)) return true;
  return std::any_of(start.validate_at.begin(), start.validate_at.end(), [&gang](uint64_t divisor) {
    return gang.step == (gang.target + divisor - 1) / divisor;
  });
}

std::string Trainers::PathOf(const frames::Start& start, uint64_t step) {
  return absl::StrCat(start.experiment, "/", start.trial, "/a", start.attempt, "/step-", step);
}

void Trainers::Save(Gang& gang, Process& process) {
  if (std::exchange(gang.saved_step, gang.step) == gang.step) return;  // it is already saved
  const frames::Start& start = process.start;
  const std::string path = PathOf(start, gang.step);
  storages_[process.storage_id][path] = gang.step;
  gang.saved.emplace_back(gang.step, path);
  frames::CheckpointDone done;
  done.token = start.token;
  done.step = gang.step;
  done.path = path;
  done.seconds = 0.05;
  const int id = process.id;
  Tell_(process, done);
  Process* self = Find(id);
  if (self == nullptr || !self->busy) return;
  // Another member may resume from a checkpoint at a share, so it stays.
  if (AtShare(self->start, gang.step, gang.target)) gang.saved.pop_back();
  if (gang.saved.size() <= kCheckpointsKept) return;
  // The newest registered checkpoint stays: a resume begins there.
  if (gang.saved.front().first >= gang.registered) return;
  const std::string old = gang.saved.front().second;
  gang.saved.erase(gang.saved.begin());
  storages_[self->storage_id].erase(old);
  frames::CheckpointRemoved removed;
  removed.token = self->start.token;
  removed.path = old;
  Tell_(*self, removed);
}

void Trainers::Break(const std::string& token) {
  Gang& gang = gangs_[token];
  gang.broken = true;
  for (size_t rank = 0; rank < gang.ranks.size(); ++rank) {
    Process* member = Rank(gang, rank);
    if (member == nullptr || dice_.Chance(faults_.stuck_in_collective)) continue;
    Later(*member, dice_.Between(absl::Milliseconds(5), absl::Milliseconds(1500)),
          [this](Process& self) { Hold(self); });
  }
}

void Trainers::Take(Process& process, const frames::PeerLost& lost) {
  if (!process.busy || process.start.token != lost.token || process.holds) return;
  Gang& gang = gangs_[lost.token];
  if (!gang.running || dice_.Chance(faults_.stuck_in_collective)) return;
  if (!gang.broken) return Break(lost.token);
  Later(process, dice_.Between(absl::Milliseconds(1), absl::Milliseconds(300)),
        [this](Process& self) { Hold(self); });
}

void Trainers::Take(Process& process, const frames::Stop& stop) {
  if (!process.busy || process.start.token != stop.token) return;
  if (dice_.Chance(faults_.stuck_in_collective)) return;  // it is killed when its time is up
  Later(process, dice_.Between(absl::Milliseconds(1), absl::Milliseconds(300)),
        [this, save = stop.checkpoint](Process& self) {
          Gang& gang = gangs_[self.start.token];
          const bool trains = gang.running && !gang.broken;
          if (save && trains && self.start.rank > 0) {
            self.leaving = true;
            return;
          }
          const int id = self.id;
          if (save && trains && gang.step > 0) Save(gang, self);
          if (Process* left = Find(id)) End(*left, "cancelled", "stopped");
        });
}

void Trainers::Take(Process& process, const frames::Registered& registered) {
  if (!process.busy || process.start.token != registered.token) return;
  Gang& gang = gangs_[registered.token];
  gang.registered = std::max(gang.registered, registered.step);
}

void Trainers::Take(Process& process, const frames::Exit&) { Reap(process, 0); }

void Trainers::End(Process& process, const std::string& cause, const std::string& message) {
  const std::string token = process.start.token;
  const uint64_t step = gangs_[token].step;
  const int id = process.id;
  process.holds = false;
  Tell_(process, frames::End{token, cause, message, step});
  Process* self = Find(id);
  if (self == nullptr) return;
  self->busy = false;
  Later(*self, dice_.Between(absl::Milliseconds(1), absl::Milliseconds(50)),
        [this](Process& idle) { Tell_(idle, frames::Idle{}); });
}

void Trainers::Kill(int worker) {
  if (Process* process = Of(worker)) Reap(*process, SIGKILL);
}

void Trainers::Vanish(int worker) {
  Process* process = Of(worker);
  if (process == nullptr) return;
  by_worker_.erase(worker);
  processes_.erase(process->id);
}

void Trainers::CrashOne() {
  std::vector<int> alive;
  for (const auto& [id, process] : processes_) {
    if (process.alive) alive.push_back(id);
  }
  if (!alive.empty()) Reap(processes_[alive[dice_.Pick(alive.size())]], SIGSEGV);
}

void Trainers::Reap(Process& process, int wait_status) {
  process.alive = false;
  const int id = process.id;
  scheduler_.After(dice_.Between(absl::Milliseconds(1), absl::Milliseconds(30)),
                   [this, id, wait_status] {
                     const auto found = processes_.find(id);
                     if (found == processes_.end()) return;  // it vanished with its worker
                     const int worker = found->second.worker;
                     by_worker_.erase(worker);
                     processes_.erase(found);
                     tell_(worker, TrainerExited{wait_status, OomEvidence::kNone});
                   });
}

void Trainers::Tell_(const Process& process, frames::FromTrainer frame) {
  tell_(process.worker, FrameReceived{std::move(frame)});
}

void Trainers::Later(const Process& process, absl::Duration delay,
                     std::function<void(Process&)> what) {
  const int id = process.id;
  const std::string token = process.start.token;
  scheduler_.After(delay, [this, id, token, what = std::move(what)] {
    Process* self = Find(id);
    if (self != nullptr && self->start.token == token) what(*self);
  });
}

Trainers::Process* Trainers::Find(int id) {
  const auto found = processes_.find(id);
  return found == processes_.end() || !found->second.alive ? nullptr : &found->second;
}

Trainers::Process* Trainers::Of(int worker) {
  const auto found = by_worker_.find(worker);
  return found == by_worker_.end() ? nullptr : Find(found->second);
}

Trainers::Process* Trainers::Rank(const Gang& gang, size_t rank) {
  Process* process = Find(gang.ranks[rank]);
  const bool here = process != nullptr && process->busy && process->start.token == gang.token;
  return here ? process : nullptr;
}

std::map<int, std::string> Trainers::Working() const {
  std::map<int, std::string> working;
  for (const auto& [id, process] : processes_) {
    if (process.alive && process.busy) working[process.worker] = process.start.token;
  }
  return working;
}

}  // namespace dt::sim
