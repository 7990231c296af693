// line.cc: the order of one line, and of all lines.
#include "coordinator/core/model/line.h"

#include <algorithm>

#include "common/check.h"

namespace dt {

void Line::Insert(TrialId trial, Again again, const Precedence& precedence, Gate gate) {
  if (entries_[trial.experiment].trials.insert({again, trial.trial}).second) ++size_;
  Place(precedence, gate);
}

bool Line::Erase(TrialId trial) {
  const auto found = entries_.find(trial.experiment);
  if (found == entries_.end()) return false;
  LineEntry& entry = found->second;
  if (entry.trials.erase({Again::kNo, trial.trial}) == 0 &&
      entry.trials.erase({Again::kYes, trial.trial}) == 0) {
    return false;
  }
  --size_;
  tried.reset();
  if (entry.trials.empty()) {
    open_.erase(entry.precedence);
    entries_.erase(found);
  }
  return true;
}

void Line::Place(const Precedence& precedence, Gate gate) {
  const auto found = entries_.find(precedence.experiment);
  DT_CHECK(found != entries_.end());
  LineEntry& entry = found->second;
  open_.erase(entry.precedence);
  entry.precedence = precedence;
  entry.gate = gate;
  if (gate == Gate::kOpen) open_.insert(precedence);
  tried.reset();
}

bool Line::Contains(TrialId trial) const {
  const auto found = entries_.find(trial.experiment);
  if (found == entries_.end()) return false;
  return found->second.trials.contains({Again::kNo, trial.trial}) ||
         found->second.trials.contains({Again::kYes, trial.trial});
}

std::optional<Line::FirstTrial> Line::First() const {
  if (open_.empty()) return std::nullopt;
  const Precedence& first = *open_.begin();
  const LineEntry& entry = entries_.find(first.experiment)->second;
  return FirstTrial{first, {first.experiment, entry.trials.begin()->second}};
}

size_t Line::Before(const Precedence& precedence) const {
  size_t trials = 0;
  for (const Precedence& other : open_) {
    if (!(other < precedence)) break;
    trials += entries_.find(other.experiment)->second.trials.size();
  }
  return trials;
}

void Lines::Insert(const Shape& shape, TrialId trial, Again again, const Precedence& precedence,
                   Gate gate) {
  const auto line = lines_.try_emplace(shape).first;
  if (!line->second.Has(trial.experiment)) of_[trial.experiment].push_back(line);
  line->second.Insert(trial, again, precedence, gate);
}

bool Lines::Erase(const Shape& shape, TrialId trial) {
  const auto line = lines_.find(shape);
  if (line == lines_.end() || !line->second.Erase(trial)) return false;
  if (!line->second.Has(trial.experiment)) {
    const auto of = of_.find(trial.experiment);
    std::erase(of->second, line);
    if (of->second.empty()) of_.erase(of);
  }
  if (line->second.empty()) lines_.erase(line);
  return true;
}

void Lines::Place(const Precedence& precedence, const std::function<Gate(const Shape&)>& gate) {
  const auto of = of_.find(precedence.experiment);
  if (of == of_.end()) return;
  for (const Map::iterator line : of->second) line->second.Place(precedence, gate(line->first));
}

std::vector<ExperimentId> Lines::Experiments() const {
  std::vector<ExperimentId> all;
  for (const auto& [id, lines] : of_) all.push_back(id);
  std::sort(all.begin(), all.end());
  return all;
}

bool Lines::Contains(TrialId trial) const {
  const auto of = of_.find(trial.experiment);
  if (of == of_.end()) return false;
  return std::any_of(of->second.begin(), of->second.end(),
                     [trial](const Map::iterator line) { return line->second.Contains(trial); });
}

const Line* Lines::Find(const Shape& shape) const {
  const auto line = lines_.find(shape);
  return line == lines_.end() ? nullptr : &line->second;
}

}  // namespace dt
