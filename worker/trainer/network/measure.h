// measure.h: an attempt that trains nothing. It times the collectives of a training run, per
// operation and size, and reports each figure as an evaluation.
//
// Role:   all_reduce runs as for the Reducer's buckets: in memory shared by the ranks of a host,
//         where training would use that, and over the backend. All-gather, reduce-scatter and
//         broadcast run as the strategies use them. All along the data axis. If all hosts have the
//         same number of ranks, more than one each, also within the hosts (shard) and between them
//         (replicate).
// Units:  a figure is the time of one operation on the slowest rank, averaged over as many
//         operations in a row as take about 50 ms; then the median over the rounds. The first
//         operation of all is not counted.
// Errors: as for RunAttempt: they become the End's cause.
// Tests:  tests/worker/trainer/network/measure_test.cc, tests/e2e/network_test.cc
#pragma once

#include "worker/frames/frames.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {

// Returns whether this attempt is a network measurement.
bool MeasuresNetwork(const frames::Start& start);

// Returns the number of ranks per host if groups within and between hosts are measured too; 0 if
// only the group of all ranks is. `nodes`: the host of each rank.
int RanksOfEachHost(const std::vector<int32_t>& nodes);

// Runs to the end and reports it, then frees all memory of the attempt.
AttemptOutcome MeasureNetwork(const frames::Start& start, Device& device,
                              Conversation& conversation);

}  // namespace dt::trainer
