// measure.h: an attempt that trains nothing: it times the collectives of a training, operation by
// operation and size by size, and tells each figure as an evaluation.
//
// Role:   all_reduce as the Reducer's buckets go, in memory that ranks of a host share where that
//         is so in a training, and over the backend; gathers, sums to shards and broadcasts as
//         strategies make them. Along the data axis; where hosts have equally many ranks, several
//         of them each, also within the hosts (shard) and between them (replicate).
// What a figure is: the time of one operation, of the slowest rank, on average over as many in a
//         row as take about 50 ms; the median of that over the rounds. The first of all is not
//         counted.
// Errors: as RunAttempt: they become the End's cause.
// Tests:  tests/worker/trainer/network/measure_test.cc, tests/e2e/network_test.cc
#pragma once

#include "worker/frames/frames.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {

// Whether the attempt is one.
bool MeasuresNetwork(const frames::Start& start);

// Ranks per host where ranks along the hosts measure by themselves as well; 0: only all together.
// `nodes`: of each rank.
int RanksOfEachHost(const std::vector<int32_t>& nodes);

// Runs to the end and says it, then frees all memory of the attempt.
Outcome MeasureNetwork(const frames::Start& start, Device& device, Conversation& conversation);

}  // namespace dt::trainer
