// seats.h: the distribution of ranks over hosts, seen from one rank.
//
// Role:   pure; no LibTorch.
// Tests:  tests/worker/trainer/parallel/host/seats_test.cc
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace dt::trainer {

struct Seat {
  // Equal for ranks that see each other's processes and memory. Empty: this rank shares with
  // nobody.
  std::optional<double> host;
  pid_t process = 0;
};

struct Neighbours {
  int hosts = 1;                 // number of hosts of all ranks
  int host = 0;                  // number of this host; hosts are numbered by their first rank
  size_t first_rank = 0;         // first rank of this host
  int place = 0;                 // index of this rank within its host
  std::vector<pid_t> processes;  // processes of this host's ranks, in rank order
};

// Returns the neighbours of rank `mine`. Returns nothing, on every rank alike, if any rank shares
// with nobody, or if there are several hosts with one rank each.
std::optional<Neighbours> NeighboursOf(const std::vector<Seat>& ranks, size_t mine);

}  // namespace dt::trainer
