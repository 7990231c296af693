// line.cc: the order of one line, and of all lines.
#include "coordinator/core/model/line.h"

#include <algorithm>

#include "common/check.h"

namespace dt {

void Line::Insert(TrialId trial, Again again, const Precedence& precedence, Gate gate) {
  if (standing_[trial.experiment].trials.insert({again, trial.trial}).second) ++size_;
  Place(precedence, gate);
}

bool Line::Erase(TrialId trial) {
  const auto found = standing_.find(trial.experiment);
  if (found == standing_.end()) return false;
  Standing& standing = found->second;
  if (standing.trials.erase({Again::kNo, trial.trial}) == 0 &&
      standing.trials.erase({Again::kYes, trial.trial}) == 0) {
    return false;
  }
  --size_;
  tried.reset();
  if (standing.trials.empty()) {
    open_.erase(standing.precedence);
    standing_.erase(found);
  }
  return true;
}

void Line::Place(const Precedence& precedence, Gate gate) {
  const auto found = standing_.find(precedence.experiment);
  DT_CHECK(found != standing_.end());
  Standing& standing = found->second;
  open_.erase(standing.precedence);
  standing.precedence = precedence;
  standing.gate = gate;
  if (gate == Gate::kOpen) open_.insert(precedence);
  tried.reset();
}

bool Line::Contains(TrialId trial) const {
  const auto found = standing_.find(trial.experiment);
  if (found == standing_.end()) return false;
  return found->second.trials.contains({Again::kNo, trial.trial}) ||
         found->second.trials.contains({Again::kYes, trial.trial});
}

std::optional<Line::Head> Line::First() const {
  if (open_.empty()) return std::nullopt;
  const Precedence& first = *open_.begin();
  const Standing& standing = standing_.find(first.experiment)->second;
  return Head{first, {first.experiment, standing.trials.begin()->second}};
}

size_t Line::Before(const Precedence& precedence) const {
  size_t trials = 0;
  for (const Precedence& other : open_) {
    if (!(other < precedence)) break;
    trials += standing_.find(other.experiment)->second.trials.size();
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
