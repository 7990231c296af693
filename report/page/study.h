// study.h: the layout of a study: one parameter down, one across; and its figures.
//
// Role:  pure. Tests: tests/report/page/study_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/analysis/results.h"
#include "report/page/document.h"

namespace dt::report {

// Which loss a table shows: of the validation data, or of training where nothing was evaluated.
enum class Loss { kValidation, kTraining };
Loss LossShown(const std::vector<Trial>& trials);
double LossOf(const Result& result, Loss loss);
std::string LossName(Loss loss);

// Two parameters swept: rows for the first, columns for the second, in order of the file. A cell
// says loss / perplexity / seconds per epoch, and a word where a trial did not finish. None with
// another number of swept parameters. `metric`: of a program, whose cells have the best value of it
// alone; "": of what dtrain trains.
std::optional<TextTable> StudyGrid(const std::vector<Trial>& trials,
                                   const std::string& metric = "");

// A row for each trial: parameters, outcome, results. The best first, and marked.
TextTable TrialList(const Experiment& experiment);

// Loss and seconds per epoch against train.seq_len, or, where that is not swept, against the
// numeric parameter with the most values; a line for each combination of the others, where there
// are at most kLinesMax; of a program its metric. Trials that ran out of memory are crosses on the
// axis. Empty without one.
inline constexpr size_t kLinesMax = 40;
std::vector<Figure> StudyFigures(const std::vector<Trial>& trials, const std::string& metric = "");

}  // namespace dt::report
