// results.h: the results of a trial as numbers and words, and the swept parameters.
//
// Role:  pure. An unknown number is NaN and its text "-"; nothing is guessed.
// Tests: tests/report/page/study_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"

namespace dt::report {

struct Result {
  double loss = 0;             // of the newest logged step
  double val_loss = 0;         // of the newest evaluation
  double perplexity = 0;       // exp(val_loss)
  double perplexity_mean = 0;  // the mean of exp(loss) over the batches of that evaluation
  double epochs = 0;           // so far
  double seconds_per_epoch = 0;
  double tokens_per_second = 0;
  double metric = 0;      // the best value of search.metric
  double comm_ratio = 0;  // share of a step
  double comm_exposed_ratio = 0;
  std::string outcome;  // "finished", "oom", "failed: nonfinite", "running 20/200",
                        // "stopped early 6/54"
  std::string word;     // the same without steps, for a table with a column of steps
};
Result ResultOf(const Trial& trial);

// Returns whether the trial trained all its steps, so that its numbers need no word about the
// outcome. A trial that its search stopped early is finished too, but did not.
bool TrainedToItsEnd(const v1::TrialSummary& trial);
bool RanOutOfMemory(const v1::TrialSummary& trial);

// A parameter with more than one value among the trials. Values are in order of appearance.
struct SweptParameter {
  std::string path;
  std::vector<std::string> texts;
  std::vector<double> numbers;  // as many as texts; empty where one is no number
};
std::vector<SweptParameter> SweptIn(const std::vector<Trial>& trials);

// Return the trial's value at `path`, as text ("-" if none) and as number (NaN if none).
std::string ValueAt(const v1::TrialSummary& trial, const std::string& path);
double NumberAt(const v1::TrialSummary& trial, const std::string& path);
// Returns whether the trial has the parameter: a conditional one may be inactive.
bool HasValue(const v1::TrialSummary& trial, const std::string& path);

// Returns the trial's parameters except `path`, as the name of a line: "batch_size=8".
std::string OthersText(const v1::TrialSummary& trial, const std::vector<SweptParameter>& swept,
                       const std::string& path);

// Returns the note that only the `drawn` best of `all` are drawn; "" where all are. `of` is
// " trials" or "".
std::string LeftOutNote(size_t drawn, size_t all, const char* of);

// Returns the trials, best first, then those without a value by number.
std::vector<const Trial*> BestFirst(const Experiment& experiment);

// Returns the metric that trials of a program are compared by: they have no perplexity and no
// tokens. "" where dtrain trains them itself.
std::string MetricOfProgram(const Experiment& experiment);

}  // namespace dt::report
