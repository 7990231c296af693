// verify.cc: see verify.h.
#include "corpus/verify.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "corpus/publish.h"
#include "corpus/tokenizer_record.h"

namespace dt::corpus {
namespace {

ShardVerdict VerdictOf(const std::string& folder, const ShardSum& expected) {
  ShardVerdict verdict{folder + "/" + expected.name, expected.bytes, ""};
  std::error_code code;
  if (!std::filesystem::exists(verdict.path, code)) {
    verdict.wrong = "it is not there";
    return verdict;
  }
  const absl::StatusOr<ShardSum> sum = SumOf(verdict.path, expected.name);
  if (!sum.ok()) {
    verdict.wrong = std::string(sum.status().message());
  } else if (sum->bytes != expected.bytes) {
    verdict.bytes = sum->bytes;
    verdict.wrong =
        absl::StrCat("it has ", sum->bytes, " bytes and was written with ", expected.bytes);
  } else if (sum->sha256 != expected.sha256) {
    verdict.wrong = "its bytes are not those that were written";
  }
  return verdict;
}

}  // namespace

absl::StatusOr<std::vector<ShardVerdict>> VerifyShards(
    const std::string& folder, const std::function<bool(uint64_t, uint64_t)>& go_on) {
  DT_ASSIGN_OR_RETURN(const std::optional<ShardsRecord> record, RecordIn(folder));
  if (!record || record->sums.empty()) {
    return DataError(absl::StrCat(
        "'", folder, "' has no record of its shards' sums (", RecordPathOf(folder),
        "); 'dtctl data tokenize' of version 0.3 and later writes one beside the shards it makes"));
  }
  if (IsBeingPublished(folder)) {
    return DataError(absl::StrCat("'", folder,
                                  "' has a part of its shards: 'dtctl data tokenize' was "
                                  "interrupted, or is at work; give that command again"));
  }
  std::vector<ShardVerdict> verdicts;
  std::vector<std::string> others = ShardsIn(folder);
  std::sort(others.begin(), others.end());
  for (const ShardSum& sum : record->sums) {
    if (go_on && !go_on(verdicts.size(), record->sums.size())) {
      return CancelledError("stopped before all shards were read");
    }
    verdicts.push_back(VerdictOf(folder, sum));
    std::erase(others, sum.name);
  }
  for (const std::string& name : others) {
    verdicts.push_back({folder + "/" + name, 0, "it is not among those that were written"});
  }
  return verdicts;
}

}  // namespace dt::corpus
