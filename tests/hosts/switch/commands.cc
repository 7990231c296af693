#include "tests/hosts/switch/commands.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace dt::hosts {
namespace {

struct Setting {
  const char* name;
  double most;
  void (*change)(Rule&, double);
};

// An hour of delay is as good as a cut.
constexpr double kMostMs = 3.6e6;
constexpr Setting kSettings[] = {
    {"delay", kMostMs, [](Rule& rule, double value) { rule.delay_ms = value; }},
    {"jitter", kMostMs, [](Rule& rule, double value) { rule.jitter_ms = value; }},
    {"loss", 100, [](Rule& rule, double value) { rule.loss_percent = value; }},
    {"reorder", 100, [](Rule& rule, double value) { rule.reorder_percent = value; }},
    {"cut", 1, [](Rule& rule, double value) { rule.cut = value != 0; }},
};

struct Change {
  const Setting* setting;
  double value;
};

absl::StatusOr<Change> ParseChange(const std::string& word) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const auto* const found =
      std::find_if(std::begin(kSettings), std::end(kSettings),
                   [&](const Setting& setting) { return parts.first == setting.name; });
  if (found == std::end(kSettings)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no setting '", parts.first, "'; there are ",
                     absl::StrJoin(kSettings, ", ", [](std::string* out, const Setting& setting) {
                       absl::StrAppend(out, setting.name);
                     })));
  }
  double value = 0;
  if (!absl::SimpleAtod(parts.second, &value) || !std::isfinite(value) || value < 0 ||
      value > found->most) {
    return absl::InvalidArgumentError(
        absl::StrCat(parts.first, "=", parts.second, " is not a number from 0 to ", found->most));
  }
  return Change{found, value};
}

absl::Status Set(const std::vector<std::string>& words, Links& links) {
  if (words.size() < 4) return absl::InvalidArgumentError("give: set FROM TO SETTING=VALUE…");
  std::vector<Change> changes;
  for (size_t i = 3; i < words.size(); ++i) {
    const absl::StatusOr<Change> change = ParseChange(words[i]);
    if (!change.ok()) return change.status();
    changes.push_back(*change);
  }
  for (const Change& change : changes) {
    absl::Status changed = links.Change(words[1], words[2], change.setting->change, change.value);
    if (!changed.ok()) return changed;
  }
  return absl::OkStatus();
}

std::optional<size_t> IndexOf(const std::string& name, const Links& links) {
  const auto found = std::find(links.hosts().begin(), links.hosts().end(), name);
  if (found == links.hosts().end()) return std::nullopt;
  return found - links.hosts().begin();
}

absl::StatusOr<std::string> Show(const std::vector<std::string>& words, Links& links) {
  const auto from = words.size() == 3 ? IndexOf(words[1], links) : std::nullopt;
  const auto to = words.size() == 3 ? IndexOf(words[2], links) : std::nullopt;
  if (!from || !to || from == to) {
    return absl::InvalidArgumentError(
        absl::StrCat("give: show FROM TO, two of the hosts ", absl::StrJoin(links.hosts(), ", ")));
  }
  const Rule rule = links.RuleOf(*from, *to);
  const Counts counts = links.CountsOf(*from, *to);
  return absl::StrCat("delay=", rule.delay_ms, " jitter=", rule.jitter_ms,
                      " loss=", rule.loss_percent, " reorder=", rule.reorder_percent,
                      " cut=", rule.cut ? 1 : 0, " frames_delivered=", counts.delivered,
                      " frames_lost=", counts.lost, " frames_cut=", counts.cut);
}

}  // namespace

std::string Execute(const std::string& line, Links& links) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const std::string verb = words.empty() ? "" : words[0];
  absl::StatusOr<std::string> answer = "";
  if (verb == "set") {
    if (absl::Status set = Set(words, links); !set.ok()) answer = set;
  } else if (verb == "clear") {
    links.Clear();
  } else if (verb == "show") {
    answer = Show(words, links);
  } else {
    answer = absl::InvalidArgumentError("give: set, clear, show or plug");
  }
  if (!answer.ok()) return absl::StrCat("error: ", answer.status().message());
  return answer->empty() ? "ok" : absl::StrCat("ok ", *answer);
}

}  // namespace dt::hosts
