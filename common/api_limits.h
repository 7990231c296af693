// api_limits.h: the bounds of the page and of /api/v1, with their reasons. Beside limits.h, so that
// a change here builds no trainer anew.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// An answer is given again for this long: however many pages are open on one thing, the core is
// asked for it once a second.
inline constexpr absl::Duration kApiFresh = absl::Seconds(1);
// Curves are many rows, and change by little: a quarter as often.
inline constexpr absl::Duration kApiCurvesFresh = absl::Seconds(4);
// And a large one for so much longer: a MiB takes some 20 ms to make, which is half a percent of a
// core for each that is asked for all the time.
inline constexpr absl::Duration kApiFreshPerMib = absl::Seconds(4);
// Different calls being answered at once; each is a few events for the core. A browser sends six.
inline constexpr size_t kApiCalls = 64;
// An answer, as JSON: a list of 500 trials with twenty parameters is 2 MiB.
inline constexpr size_t kApiAnswerBytes = 8 << 20;
// Answers that are kept, all together; the oldest go.
inline constexpr size_t kApiKeptBytes = 16 << 20;
// A report over HTTP: what a person looks at, made within a few seconds of an exchange's ten. Its
// curves take some 60 KiB a trial while it is made; a million rows are read in some two seconds.
inline constexpr size_t kApiReportTrials = 500;
inline constexpr size_t kApiReportRows = 1'000'000;
// Trials that the core is asked to explain at once: other calls come between.
inline constexpr size_t kApiReportAsks = 50;
// Reports and analyses that are being made or wait; they have a thread of their own.
inline constexpr size_t kApiWholes = 4;
// Which parameters mattered changes with each trial that ends, and takes up to a second to find.
inline constexpr absl::Duration kApiImportanceFresh = absl::Seconds(30);
// The body of an act: a note, or all labels that an experiment may have at a usual length.
inline constexpr size_t kHttpBodyBytes = 64 << 10;
// Entries of one page: each has some 2 KiB.
inline constexpr size_t kApiPageMax = 500;
// Trials and metrics in one answer of curves, and points of one curve: as many as a person can tell
// apart, and a point for every pixel of a wide screen.
inline constexpr size_t kApiTrials = 100;
inline constexpr size_t kApiMetrics = 16;
inline constexpr size_t kApiPointsDefault = 500;
inline constexpr size_t kApiPointsMax = 4000;
// All curves of an answer together: with step and value a point takes some 15 bytes, so they fit
// into kApiAnswerBytes.
inline constexpr size_t kApiPointsTotal = 250'000;
// Rows that one answer of curves reads at most, a quarter of a second; what is left is read for the
// next, and the answer says that it is not complete.
inline constexpr size_t kApiRowsRead = 200'000;
// Trials whose curves are kept, so that the next answer reads new rows alone; 32 bytes a point.
inline constexpr size_t kApiCurvesKept = 512;
// Points of all kept curves: 32 MiB.
inline constexpr size_t kApiPointsKept = 1'000'000;
// Lines of one answer of logs, and their bytes.
inline constexpr size_t kApiLogLinesDefault = 200;
inline constexpr size_t kApiLogLinesMax = 2000;
inline constexpr size_t kApiLogBytes = 2 << 20;
// Experiments whose waiting trials a call of the queue looks at, and trials of each.
inline constexpr size_t kApiQueueExperiments = 50;
inline constexpr size_t kApiQueueTrials = 100;
// What was sent, as far as an error quotes it.
inline constexpr size_t kQuotedBytes = 64;

}  // namespace dt::limits
