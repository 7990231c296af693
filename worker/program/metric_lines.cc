// metric_lines.cc: see metric_lines.h.
#include "worker/program/metric_lines.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/limits.h"
#include "common/metric_limits.h"
#include "common/metric_name.h"
#include "common/text.h"

namespace dt::program {
namespace {

// Counts above this are no steps.
constexpr uint64_t kDoneMost = 1ull << 50;

uint64_t CountIn(re2::StringPiece digits) {
  uint64_t count = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return read.ec == std::errc() && count <= kDoneMost ? count : 0;
}

std::string_view View(re2::StringPiece text) { return {text.data(), text.size()}; }

// Returns the numbers of "loss=0.53, acc=80%" and of "v_num: 0.000 train_loss: 0.12".
std::vector<std::pair<std::string, double>> NumbersOf(std::string_view text) {
  std::vector<std::pair<std::string, double>> numbers;
  const bool rich = text.find('=') == std::string_view::npos;
  while (!text.empty() && numbers.size() < limits::kMetrics) {
    const size_t mark = text.find(rich ? ':' : '=');
    if (mark == std::string_view::npos) break;
    const std::string_view name = Trimmed(text.substr(0, mark));
    text.remove_prefix(mark + 1);
    if (rich) text = Trimmed(text);
    const size_t end = std::min(text.find(rich ? ' ' : ','), text.size());
    std::string_view value = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (value.ends_with('%')) value.remove_suffix(1);
    const std::optional<double> number = spec::NumberIn(value);
    // Lightning's v_num is the number of its log folder.
    if (number && name != "v_num" && IsMetricName(name)) numbers.emplace_back(name, *number);
  }
  return numbers;
}

}  // namespace

std::optional<ProgressBars::Bar> ProgressBars::BarIn(std::string_view line) {
  static const re2::RE2 kBar(
      R"((?:Epoch (\d+).*?)?(?:^|[\s|])(\d+)/(\d+) \[[\d:]+<[^,\]]*, *[^,\]]*, *([^\]]*)\])");
  static const re2::RE2 kCounter(R"((?:^|[\s|])(\d+)it \[[\d:]+, *[^,\]]*, *([^\]]*)\])");
  static const re2::RE2 kRich(R"(Epoch (\d+)/.*?\s(\d+)/(\d+) .*?it/s +(.*:.*))");
  Bar bar;
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece epoch, done, total, numbers;
  if (re2::RE2::PartialMatch(text, kBar, &epoch, &done, &total, &numbers) ||
      re2::RE2::PartialMatch(text, kRich, &epoch, &done, &total, &numbers)) {
    if (!epoch.empty()) bar.epoch = CountIn(epoch);
    bar.total = CountIn(total);
  } else if (!re2::RE2::PartialMatch(text, kCounter, &done, &numbers)) {
    return std::nullopt;
  }
  bar.done = CountIn(done);
  bar.numbers = View(numbers);
  return bar;
}

uint64_t ProgressBars::StepOf(const Bar& bar) {
  if (kind_ == Kind::kLightning && bar.epoch) {
    done_ = *bar.epoch < (1 << 20) && bar.total < (1 << 30) ? *bar.epoch * bar.total + bar.done : 0;
    return done_;
  }
  if (!total_) {
    // A program that resumes may begin its bar at 0, or where it goes on.
    total_ = bar.total;
    before_ = bar.done < resumed_step_ ? resumed_step_ : 0;
  }
  // A second bar, of a validation, counts no steps of the training.
  if (bar.total != *total_) return before_ + done_;
  if (bar.done < done_)
    before_ = std::min(kDoneMost, before_ + (bar.total == 0 ? done_ : bar.total));
  done_ = bar.done;
  return before_ + done_;
}

std::optional<Sample> ProgressBars::Take(std::string_view line) {
  const std::optional<Bar> bar = BarIn(line);
  if (!bar) return std::nullopt;
  auto numbers = NumbersOf(bar->numbers);
  if (numbers.empty()) return std::nullopt;
  Sample sample;
  sample.step = static_cast<double>(StepOf(*bar));
  for (auto& [name, value] : numbers) {
    if (shown_.size() >= kSampleNames && !shown_.contains(name)) continue;
    const auto [at, first] = shown_.try_emplace(name, value);
    if (!first && SameNumber(at->second, value)) continue;
    at->second = value;
    sample.values.emplace_back(std::move(name), value);
  }
  return sample;
}

absl::StatusOr<MetricLines> MetricLines::Make(const std::vector<std::string>& patterns,
                                              uint64_t resumed_step) {
  MetricLines lines;
  std::vector<std::string> names;
  for (const std::string& text : patterns) {
    if (spec::IsNamedShape(text)) {
      lines.bars_.emplace_back(
          text == "tqdm" ? ProgressBars::Kind::kTqdm : ProgressBars::Kind::kLightning,
          resumed_step);
      continue;
    }
    absl::StatusOr<spec::LinePattern> made = spec::LinePattern::Make(text);
    if (!made.ok()) return made.status();
    names.insert(names.end(), made->names().begin(), made->names().end());
    lines.patterns_.push_back(*std::move(made));
  }
  for (const std::string_view word : spec::kStepWords) {
    if (std::find(names.begin(), names.end(), word) == names.end()) continue;
    lines.step_word_ = word;
    break;
  }
  return lines;
}

std::optional<Sample> MetricLines::Take(std::string_view line) {
  if (line.size() > limits::kMetricLineBytes) return std::nullopt;
  Sample sample;
  bool found = false;
  for (const spec::LinePattern& pattern : patterns_) {
    for (auto& [name, value] : pattern.Find(line)) {
      found = true;
      if (name == step_word_) {
        if (!sample.step) sample.step = value;
        continue;
      }
      const bool known = std::any_of(sample.values.begin(), sample.values.end(),
                                     [&n = name](const auto& one) { return one.first == n; });
      if (!known) sample.values.emplace_back(std::move(name), value);
    }
  }
  for (ProgressBars& bars : bars_) {
    if (found) break;
    if (std::optional<Sample> bar = bars.Take(line)) {
      found = true;
      sample = *std::move(bar);
    }
  }
  matched_ = matched_ || found;
  if (!found) return std::nullopt;
  return sample;
}

}  // namespace dt::program
