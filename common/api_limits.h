// api_limits.h: the bounds of the page and of /api/v1, with their reasons. It stands beside
// limits.h so that a change here does not rebuild the trainer.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// The same answer is given again for this long, so that the core is asked once a second however
// many pages show the same thing.
inline constexpr absl::Duration kApiFresh = absl::Seconds(1);
// Curves have many rows and change by little, so they are made a quarter as often.
inline constexpr absl::Duration kApiCurvesFresh = absl::Seconds(4);
// A large answer is kept longer still: making a MiB takes some 20 ms, so a request that never stops
// costs half a percent of a core.
inline constexpr absl::Duration kApiFreshPerMib = absl::Seconds(4);
// Different calls that are answered at once; each is a few events for the core. A browser sends
// six.
inline constexpr size_t kApiCalls = 64;
// An answer, as JSON: a list of 500 trials with twenty parameters is 2 MiB.
inline constexpr size_t kApiAnswerBytes = 8 << 20;
// Bytes of all kept answers together; the oldest are dropped.
inline constexpr size_t kApiKeptBytes = 16 << 20;
// A report over HTTP has what a person can look at, and must be ready within a few seconds of an
// exchange's ten. Its curves take some 60 KiB a trial while it is made; a million rows are read in
// some two seconds.
inline constexpr size_t kApiReportTrials = 500;
inline constexpr size_t kApiReportRows = 1'000'000;
// Trials that the core explains in one event, so that other calls get their turn in between.
inline constexpr size_t kApiReportAsks = 50;
// Reports and analyses that are made or wait; they have a thread of their own.
inline constexpr size_t kApiReportJobs = 4;
// Which parameters matter changes with each trial that ends, and takes up to a second to compute.
inline constexpr absl::Duration kApiImportanceFresh = absl::Seconds(30);
// The body of an act: a note, or as many labels as an experiment may have, of a usual length.
inline constexpr size_t kHttpBodyBytes = 64 << 10;
// Entries of one page: each has some 2 KiB.
inline constexpr size_t kApiPageMax = 500;
// Trials and metrics in one answer of curves, and points of one curve: as many as a person can tell
// apart, and a point for every pixel of a wide screen.
inline constexpr size_t kApiTrials = 100;
inline constexpr size_t kApiMetrics = 16;
inline constexpr size_t kApiPointsDefault = 500;
inline constexpr size_t kApiPointsMax = 4000;
// All curves of an answer together: a point with its step and value takes some 15 bytes, so they
// fit into kApiAnswerBytes.
inline constexpr size_t kApiPointsTotal = 250'000;
// Rows that one answer of curves reads at most, in a quarter of a second. The next answer reads on;
// this one states that it is incomplete.
inline constexpr size_t kApiRowsRead = 200'000;
// Trials whose curves are kept, at 32 bytes a point, so that the next answer reads only new rows.
inline constexpr size_t kApiCurvesKept = 512;
// Points of all kept curves: 32 MiB.
inline constexpr size_t kApiPointsKept = 1'000'000;
// Lines in one answer of logs, and their bytes.
inline constexpr size_t kApiLogLinesDefault = 200;
inline constexpr size_t kApiLogLinesMax = 2000;
inline constexpr size_t kApiLogBytes = 2 << 20;
// Experiments whose waiting trials a call about the queue looks at, and trials of each.
inline constexpr size_t kApiQueueExperiments = 50;
inline constexpr size_t kApiQueueTrials = 100;
// Bytes of the input that an error message quotes.
inline constexpr size_t kQuotedBytes = 64;

}  // namespace dt::limits
