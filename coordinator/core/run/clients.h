// clients.h: clients that run trials themselves, in the table of workers.
//
// A client that asks for a trial stands in the table as a worker with one slot of the kind `client`
// while it has the trial. So placement, leases, retries, searches and a restart of the
// coordinator treat its trial as any other. It has no stream: each call is heard as a report.
//
// Tests: tests/coordinator/core/client_trials_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Returns the name of the slot: "client/12/00000000000000ab".
std::string ClientName(ExperimentId experiment, uint64_t asker);
// A client that joins.
struct NewClient {
  uint64_t asker = 0;
  const std::string& host;
  absl::Duration lease;
};
// Returns the client, which is heard now, or nullptr if it has no slot.
Worker* HearClient(Turn& turn, const Experiment& experiment, uint64_t asker);
// Adds a client with a free slot. Errors: ResourceExhausted if there are limits::kClients, or the
// table of workers is full; AlreadyExists if a worker has the name. REQUIRES: HearClient returns
// nullptr.
absl::StatusOr<Worker*> AddClient(Turn& turn, const Experiment& experiment, const NewClient& added);
// Removes the client and its slot. Its attempt, if it has one, has ended or is being cancelled.
void DropClient(Turn& turn, Worker& client);
// Marks the attempt of the client as prepared and running, if it is not.
void RunInClient(Turn& turn, Worker& client);

}  // namespace dt
