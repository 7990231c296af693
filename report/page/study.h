// study.h: the grid of a study, one parameter down and one across, and its figures.
//
// Role:  pure. Tests: tests/report/page/study_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/analysis/results.h"
#include "report/page/document.h"

namespace dt::report {

// Loss in a table: on validation data, or in training where nothing was evaluated.
enum class Loss { kValidation, kTraining };
Loss LossShown(const std::vector<Trial>& trials);
double LossOf(const Result& result, Loss loss);
std::string LossName(Loss loss);

// Returns the grid of two swept parameters: a row for each value of the first, a column for each of
// the second, in the order of the file. A cell has loss / perplexity / seconds per epoch, and a
// word where a trial did not finish. Returns nothing for another number of swept parameters. For a
// program, `metric` is not "", and cells have only its best value.
std::optional<TextTable> StudyGrid(const std::vector<Trial>& trials,
                                   const std::string& metric = "");

// Returns a row for each trial with parameters, outcome and results, the best first and marked.
TextTable TrialList(const Experiment& experiment);

inline constexpr size_t kLinesMax = 40;
// Returns figures of loss and seconds per epoch, for a program of its metric, against train.seq_len
// or, where that is not swept, against the numeric parameter with the most values. Each combination
// of the others has a line, if these are at most kLinesMax. Trials that ran out of memory are
// crosses on the axis. Empty without a numeric parameter.
std::vector<Figure> StudyFigures(const std::vector<Trial>& trials, const std::string& metric = "");

}  // namespace dt::report
