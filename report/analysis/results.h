// results.h: what a trial came to, in numbers and in words, and what was swept.
//
// Role:  pure. A number that is not known is NaN, its text "-"; nothing is guessed.
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
  double epochs = 0;           // made so far
  double seconds_per_epoch = 0;
  double tokens_per_second = 0;
  double metric = 0;      // the best value of search.metric
  double comm_ratio = 0;  // part of a step
  double comm_exposed_ratio = 0;
  std::string outcome;  // "finished", "oom", "failed: nonfinite", "running 20/200",
                        // "stopped early 6/54"
  std::string word;     // the same without steps, beside a column that has them
};
Result ResultOf(const Trial& trial);

// Whether it ended as what it was asked to be, so that its outcome needs no word beside numbers.
// One that a rule of its search ended early is finished too, and did not.
bool TrainedToItsEnd(const v1::TrialSummary& trial);
bool RanOutOfMemory(const v1::TrialSummary& trial);

// A parameter with more than one value among the trials, and these in order of appearance.
struct SweptParameter {
  std::string path;
  std::vector<std::string> texts;
  std::vector<double> numbers;  // as many as texts; empty when one is no number
};
std::vector<SweptParameter> SweptIn(const std::vector<Trial>& trials);

// The trial's value at `path`: as text ("-" if none), as number (NaN if none).
std::string ValueAt(const v1::TrialSummary& trial, const std::string& path);
double NumberAt(const v1::TrialSummary& trial, const std::string& path);

// The trials' parameters but `path`, as one text that names a line: "batch_size=8".
std::string OthersText(const v1::TrialSummary& trial, const std::vector<SweptParameter>& swept,
                       const std::string& path);

// That of `all` so many are drawn, the best ones; "" where it is all. `of`: " trials" or "".
std::string LeftOutNote(size_t drawn, size_t all, const char* of);

// Before the trials that did best come first; the others follow in order of number.
std::vector<const Trial*> BestFirst(const Experiment& experiment);

// What trials of a program are compared by: they have no perplexity, nor tokens. "": dtrain trains
// them itself.
std::string MetricOfProgram(const Experiment& experiment);

}  // namespace dt::report
