// clients.cc: see clients.h.
#include "coordinator/core/run/clients.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/client_limits.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/worker_level.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/items.h"
#include "coordinator/core/run/workers.h"

namespace dt {
namespace {

// Describes a client as a worker that meets the needs of the experiment's trials, and of no other.
v1::Hello HelloOf(const Experiment& experiment, uint64_t asker, const std::string& host) {
  const Constraint constraint = ShapeOf(experiment).constraint;
  v1::Hello hello;
  hello.set_worker(ClientName(experiment.id, asker));
  hello.set_instance(asker);
  hello.set_session(1);
  hello.set_host(host.empty() ? "client" : CleanText(host, limits::kNameBytes));
  hello.set_device(std::string(Name(DeviceKind::kClient)));
  hello.set_level(kWorkerLevel);
  hello.set_programs(true);
  for (const auto& [key, value] : constraint.labels) {
    v1::Label& label = *hello.add_labels();
    label.set_key(key);
    label.set_value(value);
  }
  return hello;
}

v1::Item ItemOf(const LiveAttempt& attempt) {
  v1::Item item;
  item.set_attempt_token(attempt.token.ToBytes());
  return item;
}

}  // namespace

std::string ClientName(ExperimentId experiment, uint64_t asker) {
  return absl::StrFormat("client/%d/%016x", experiment, asker);
}

Worker* HearClient(Turn& turn, const Experiment& experiment, uint64_t asker) {
  const auto found = turn.live().worker_names.find(ClientName(experiment.id, asker));
  if (found == turn.live().worker_names.end()) return nullptr;
  Worker& client = turn.live().workers[found->second];
  if (!IsClient(client)) return nullptr;
  client.last_heard = turn.now.steady;
  if (client.presence == Presence::kConnected) return &client;
  // Since the start of the coordinator only the journal knew it.
  SetSlot(turn.live(), client, std::nullopt);
  client.hello = HelloOf(experiment, asker, client.hello.host());
  client.session = 1;
  client.presence = Presence::kConnected;
  UpdateSlot(turn.state, client);
  return &client;
}

absl::StatusOr<Worker*> AddClient(Turn& turn, const Experiment& experiment,
                                  const NewClient& added) {
  const std::string name = ClientName(experiment.id, added.asker);
  if (turn.live().worker_names.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("a worker has the name '", name, "'"));
  }
  Worker* client = nullptr;
  if (PoolOf(turn.live(), DeviceKind::kClient).connected() < limits::kClients) {
    client = AddWorker(turn.live(), name);
  }
  if (client == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("this client is one too many; the limit is ",
                                                     limits::kClients, ", and with the workers ",
                                                     limits::kWorkers));
  }
  client->instance = added.asker;
  client->hello = HelloOf(experiment, added.asker, added.host);
  client->session = 1;
  client->presence = Presence::kConnected;
  client->last_heard = turn.now.steady;
  client->lease = added.lease;
  ArmLease(turn.live(), *client);
  UpdateSlot(turn.state, *client);
  return client;
}

void DropClient(Turn& turn, Worker& client) {
  if (client.attempt != nullptr) TakeRankGone(turn, client);
  DT_CHECK(client.attempt == nullptr && client.stream == 0);
  SetSlot(turn.live(), client, std::nullopt);
  LiveState& live = turn.live();
  live.timers.erase({.at = client.lease_timer,
                     .kind = Timer::Kind::kLease,
                     .worker = client.index,
                     .attempt = {}});
  live.timers.erase({.at = client.forget_timer,
                     .kind = Timer::Kind::kForget,
                     .worker = client.index,
                     .attempt = {}});
  const WorkerIndex index = client.index;
  live.worker_names.erase(client.name);
  client = Worker{};
  live.unused_workers.push_back(index);
}

void RunInClient(Turn& turn, Worker& client) {
  LiveAttempt& attempt = *client.attempt;
  if (!attempt.Is<Preparing>()) return;
  v1::Item prepared = ItemOf(attempt);
  prepared.mutable_prepared()->set_target_steps(static_cast<uint64_t>(attempt.spec.steps()));
  TakeClientItem(turn, client, prepared, Last::kNo);
  v1::Item running = ItemOf(attempt);
  running.mutable_running();
  TakeClientItem(turn, client, running, Last::kNo);
}

}  // namespace dt
