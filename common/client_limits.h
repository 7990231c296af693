// client_limits.h: bounds of trials that run in clients (client_trial.h), each with its reason.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// Silence after which the trial of a client goes to another one, unless the client asks for another
// time: an interpreter may hold its lock for long.
inline constexpr absl::Duration kClientLease = absl::Seconds(60);
inline constexpr absl::Duration kClientLeaseLeast = absl::Seconds(5);
inline constexpr absl::Duration kClientLeaseMost = absl::Hours(24);
// Clients that run a trial at once. They stand in the table of workers (limits::kWorkers), and half
// of it stays for workers.
inline constexpr size_t kClients = 10'000;
// Searches with trials for clients to ask for. Each has a line and a pool of its own, which the
// cost of an event grows with, and a person may forget one.
inline constexpr size_t kClientSearches = 256;
// Values in the list of a parameter that a client suggests, and its bytes: each stands in the
// journal once.
inline constexpr int kSuggestedValues = 256;
inline constexpr size_t kSuggestedBytes = 16 << 10;

}  // namespace dt::limits
