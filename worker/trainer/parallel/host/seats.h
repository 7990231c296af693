// seats.h: which ranks are on which host, seen from one of them.
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
  // The same for those that see each other's processes and memory; nothing: shares with nobody.
  std::optional<double> host;
  pid_t process = 0;
};

struct Neighbours {
  int hosts = 1;                 // of all ranks
  int host = 0;                  // this one's number, counted in the order of their first ranks
  size_t first_rank = 0;         // of this host
  int place = 0;                 // of this rank among those of its host
  std::vector<pid_t> processes;  // of the ranks of this host, in order
};

// Those of rank `mine`. Nothing, for every rank alike, where one shares with nobody, or where there
// are several hosts and each has one rank.
std::optional<Neighbours> NeighboursOf(const std::vector<Seat>& ranks, size_t mine);

}  // namespace dt::trainer
