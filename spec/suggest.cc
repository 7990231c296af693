// suggest.cc: "did you mean …?": by meaning if another system has the word (other_words.cc), else
// the nearest known word if a typing mistake is likely.
#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "spec/other_words.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

// Longer words are compared by their first part: a wrong key of a megabyte is no typing mistake.
constexpr size_t kLongestCompared = 64;

// Returns the insertions, deletions, replacements and swaps of neighbours that turn a into b.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string_view Last(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

// The same for values. A hint of several words is a sentence; a single word is the word to use.
struct OtherValue {
  std::string_view path;
  std::string_view theirs;  // in lower case, with _ between words
  std::string_view hint;
};
constexpr char kHyperband[] =
    "did you mean 'asha'? with asha: {brackets: 2} or more it is hyperband";
constexpr char kBohb[] =
    "did you mean 'asha'? with sampler: bayes and asha: {brackets: 2} or more it proposes as BOHB "
    "does";
constexpr char kMedian[] = "write stop: {median: {after: 5}}, which goes with any method";
constexpr std::array<OtherValue, 46> kOtherValues{{
    {"search.method", "hyperband", kHyperband},
    {"search.method", "bohb", kBohb},
    {"search.method", "median", kMedian},
    {"search.method", "median_stopping", kMedian},
    {"search.method", "medianstopping", kMedian},
    {"search.method", "tpe", "bayes"},
    {"search.method", "bayesian", "bayes"},
    {"search.method", "bayesian_optimization", "bayes"},
    {"search.method", "bayesopt", "bayes"},
    {"search.method", "bo", "bayes"},
    {"search.method", "optuna", "bayes"},
    {"search.method", "hyperopt", "bayes"},
    {"search.method", "gp", "bayes"},
    {"search.method", "smac", "bayes"},
    {"search.method", "skopt", "bayes"},
    {"search.method", "ax", "bayes"},
    {"search.method", "multivariate_tpe", "bayes"},
    {"search.method", "cma_es", "bayes"},
    {"search.method", "cmaes", "bayes"},
    {"search.method", "adaptive_asha", "asha"},
    {"search.method", "async_halving", "asha"},
    {"search.method", "asynchyperband", kHyperband},
    {"search.method", "async_hyperband", kHyperband},
    {"search.method", "successive_halving", "asha"},
    {"search.method", "successivehalving", "asha"},
    {"search.method", "sha", "asha"},
    {"search.method", "sync_halving", "asha"},
    {"search.method", "population", "pbt"},
    {"search.method", "population_based_training", "pbt"},
    {"search.method", "pb2", "pbt"},
    {"search.method", "evolution", "pbt"},
    {"search.method", "grid_search", "grid"},
    {"search.method", "gridsearch", "grid"},
    {"search.method", "random_search", "random"},
    {"search.method", "randomsearch", "random"},
    {"search.method", "randomsampler", "random"},
    {"search.method", "sobol", "random"},
    {"search.method", "single", "grid"},
    {"search.sampler", "tpe", "bayes"},
    {"search.sampler", "bayesian", "bayes"},
    {"search.sampler", "optuna", "bayes"},
    {"search.sampler", "bohb", "bayes"},
    {"search.goal", "min", "minimize"},
    {"search.goal", "max", "maximize"},
    {"search.goal", "lower", "minimize"},
    {"search.goal", "higher", "maximize"},
}};

}  // namespace

std::string OtherValueHint(std::string_view path, std::string_view text) {
  std::string word(text.substr(0, kLongestCompared));
  for (char& c : word) c = c == '-' || c == ' ' ? '_' : absl::ascii_tolower(c);
  for (const OtherValue& one : kOtherValues) {
    if (one.path != path || one.theirs != word) continue;
    const bool whole = one.hint.find(' ') != std::string_view::npos;
    return whole ? std::string(one.hint)
                 : absl::StrCat("did you mean '", std::string(one.hint), "'?");
  }
  return "";
}

namespace {

// Returns how many mistakes a word of this length may have: every second short word is near to
// another.
size_t SlipsAllowed(size_t size) { return size <= 2 ? 0 : size <= 5 ? 1 : size <= 9 ? 2 : 3; }

// Returns how far a misspelt word is from the intended one; nullopt: it is another word.
std::optional<size_t> Slips(std::string_view wrong, std::string_view word) {
  const size_t shorter = std::min(wrong.size(), word.size());
  const size_t longer = std::max(wrong.size(), word.size());
  const size_t allowed = SlipsAllowed(longer);
  if (longer - shorter > allowed) return std::nullopt;
  // Nobody mistypes the first of three or four letters.
  constexpr size_t kShort = 4;
  if (longer <= kShort && (shorter == 0 || wrong.front() != word.front())) return std::nullopt;
  const size_t edits = Edits(wrong, word);
  return edits <= allowed ? std::optional(edits) : std::nullopt;
}

// Does the same for paths, word by word.
std::optional<size_t> PathSlips(std::string_view wrong, std::string_view path) {
  size_t sum = 0;
  while (true) {
    const size_t dot = wrong.find('.');
    const size_t other = path.find('.');
    if ((dot == std::string_view::npos) != (other == std::string_view::npos)) return std::nullopt;
    const std::string_view word = wrong.substr(0, dot);
    const std::string_view ours = path.substr(0, other);
    if (word != ours) {
      const std::optional<size_t> slips = Slips(word, ours);
      if (!slips) return std::nullopt;
      sum += *slips;
    }
    if (dot == std::string_view::npos) return sum;
    wrong.remove_prefix(dot + 1);
    path.remove_prefix(other + 1);
  }
}

template <typename Distance>
std::string Nearest(std::string_view wrong, const std::vector<std::string>& known,
                    const Distance& distance) {
  const std::string* nearest = nullptr;
  size_t least = 0;
  for (const std::string& word : known) {
    const std::optional<size_t> slips = distance(wrong, word);
    if (!slips || (nearest != nullptr && *slips >= least)) continue;
    nearest = &word;
    least = *slips;
  }
  return nearest == nullptr ? "" : *nearest;
}

std::vector<std::string> KnownPaths() {
  std::vector<std::string> known = TopWords();
  for (const auto* table : {&ExperimentFieldTable(), &FieldTable()}) {
    for (const Field& field : *table) {
      known.push_back(field.path);
      const std::string section = field.path.substr(0, field.path.rfind('.'));
      if (section.find('.') != std::string::npos) known.push_back(section);  // "search.asha"
    }
  }
  return known;
}

bool IsSentence(std::string_view hint) { return hint.find(' ') != std::string_view::npos; }

}  // namespace

std::string Suggest(std::string_view wrong, const std::vector<std::string>& known) {
  return Nearest(wrong.substr(0, kLongestCompared), known, Slips);
}

std::string SuggestPath(std::string_view wrong) {
  const std::vector<std::string> known = KnownPaths();
  const std::string_view last = Last(wrong);
  const bool ours = std::find(known.begin(), known.end(), wrong) != known.end();
  if (const auto theirs = OtherPath(wrong); theirs && !ours) {
    return IsSentence(*theirs) ? "" : std::string(*theirs);
  }
  const std::string_view compared = wrong.substr(0, kLongestCompared);
  if (std::string near = Nearest(compared, known, PathSlips); !near.empty()) return near;
  // The right word under the wrong section, or without its section: "train.lr", "batch_size".
  for (const std::string& path : known) {
    if (Last(path) == last && last != "every" && last != "type" && last != "max") return path;
  }
  std::vector<std::string> lasts;
  lasts.reserve(known.size());
  for (const std::string& path : known) lasts.emplace_back(Last(path));
  const std::string near = last.size() < 4 ? "" : Suggest(last, lasts);
  for (size_t i = 0; !near.empty() && i < lasts.size(); ++i) {
    if (lasts[i] == near) return known[i];
  }
  return "";
}

std::string PathHint(std::string_view wrong) {
  const auto theirs = OtherPath(wrong);
  if (theirs && IsSentence(*theirs) && FindField(wrong) == nullptr) return std::string(*theirs);
  const std::string near = SuggestPath(wrong);
  return near.empty() ? "" : absl::StrCat("did you mean '", near, "'?");
}

}  // namespace dt::spec
