// seats.cc: see seats.h.
#include "worker/trainer/parallel/host/seats.h"

#include <algorithm>

namespace dt::trainer {

std::optional<Neighbours> NeighboursOf(const std::vector<Seat>& ranks, size_t mine) {
  Neighbours found;
  std::vector<double> hosts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Seat& seat = ranks[rank];
    if (!seat.host) return std::nullopt;
    const auto known = std::find(hosts.begin(), hosts.end(), *seat.host);
    const auto number = static_cast<int>(known - hosts.begin());
    if (known == hosts.end()) hosts.push_back(*seat.host);
    if (rank == mine) {
      found.host = number;
      found.place = static_cast<int>(found.processes.size());
    }
    if (seat.host != ranks.at(mine).host) continue;
    if (found.processes.empty()) found.first_rank = rank;
    found.processes.push_back(seat.process);
  }
  found.hosts = static_cast<int>(hosts.size());
  if (hosts.size() > 1 && hosts.size() == ranks.size()) return std::nullopt;
  return found;
}

}  // namespace dt::trainer
