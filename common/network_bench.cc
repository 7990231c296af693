#include "common/network_bench.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"

namespace dt {
namespace {

constexpr CollectiveOp kMeasured[] = {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                      CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast,
                                      CollectiveOp::kSend};

std::string MeasuredWords() {
  return absl::StrJoin(kMeasured, ", ", [](std::string* out, CollectiveOp op) {
    absl::StrAppend(out, std::string(WordOf(op)));
  });
}

absl::StatusOr<std::vector<CollectiveOp>> ParseOps(const std::string& text) {
  std::vector<CollectiveOp> ops;
  const std::vector<std::string> words = absl::StrSplit(text, ',');
  for (const std::string& word : words) {
    const auto* known = std::find_if(std::begin(kMeasured), std::end(kMeasured),
                                     [&](CollectiveOp op) { return WordOf(op) == word; });
    if (known == std::end(kMeasured)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--ops has '", Printable(word), "'; it is a list of ", MeasuredWords()));
    }
  }
  for (const CollectiveOp op : kMeasured) {
    if (std::find(words.begin(), words.end(), WordOf(op)) != words.end()) ops.push_back(op);
  }
  return ops;
}

absl::StatusOr<std::vector<uint64_t>> ParseSizes(const std::string& text) {
  std::vector<uint64_t> sizes;
  for (const auto& word : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::optional<uint64_t> bytes = ParseBytes(word);
    if (!bytes || *bytes < limits::kNetworkBytesMin || *bytes > limits::kNetworkBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--sizes has '", Printable(word), "'; a size is a number of bytes such as 64K or 16M, ",
          "from ", limits::kNetworkBytesMin, " to ", FormatBytes(limits::kNetworkBytesMax)));
    }
    sizes.push_back(*bytes);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() <= limits::kNetworkSizes) return sizes;
  return absl::InvalidArgumentError(absl::StrCat("--sizes has ", sizes.size(), " sizes; at most ",
                                                 limits::kNetworkSizes, " are measured at once"));
}

absl::StatusOr<int> ParseRounds(const std::string& text) {
  int rounds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && rounds >= 1 && rounds <= limits::kNetworkRoundsMax) return rounds;
  return absl::InvalidArgumentError(absl::StrCat("--rounds is '", Printable(text),
                                                 "'; it must be an integer from 1 to ",
                                                 limits::kNetworkRoundsMax));
}

}  // namespace

absl::StatusOr<NetworkBench> ParseNetworkBench(const std::vector<std::string>& words) {
  NetworkBench bench;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    const std::string value = parts.size() == 2 ? parts[1] : "";
    if (parts[0] == "--ops") {
      DT_ASSIGN_OR_RETURN(bench.ops, ParseOps(value));
    } else if (parts[0] == "--sizes") {
      DT_ASSIGN_OR_RETURN(bench.sizes, ParseSizes(value));
    } else if (parts[0] == "--rounds") {
      DT_ASSIGN_OR_RETURN(bench.rounds, ParseRounds(value));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(kNetworkBenchWord), " does not know '", Printable(words[i]),
                       "'; it takes --ops=…, --sizes=… and --rounds=…"));
    }
  }
  return bench;
}

std::vector<std::string> WordsOf(const NetworkBench& bench) {
  const std::string ops = absl::StrJoin(bench.ops, ",", [](std::string* out, CollectiveOp op) {
    absl::StrAppend(out, std::string(WordOf(op)));
  });
  return {std::string(kNetworkBenchWord), absl::StrCat("--ops=", ops),
          absl::StrCat("--sizes=", absl::StrJoin(bench.sizes, ",")),
          absl::StrCat("--rounds=", bench.rounds)};
}

}  // namespace dt
