// dataset.cc: see dataset.h.
#include "worker/trainer/data/dataset.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "corpus/fingerprint.h"
#include "corpus/glob.h"

namespace dt::trainer {
namespace {

// Limit on shards, since each keeps a file descriptor open. 20 B tokens are 200 shards of llm.c's
// default size, or 1,000 if a script wrote small ones. Systems let a process open half a million
// files.
constexpr size_t kShardsMax = 16384;
// Descriptors that the trainer needs for other purposes: sockets to other ranks, libraries,
// checkpoints.
constexpr size_t kOtherDescriptors = 512;

size_t OpenDescriptors() {
  std::error_code code;
  std::filesystem::directory_iterator entry("/proc/self/fd", code);
  return code ? 0 : static_cast<size_t>(std::distance(entry, {}));
}

// Raises this process's limit of open files to fit `shards` more. The usual soft limit is 1,024.
absl::Status MakeRoomFor(size_t shards, const std::string& context) {
  struct rlimit limit {};
  // opening the files will report it
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  const size_t needed = OpenDescriptors() + shards;
  const size_t most = limit.rlim_max;
  if (limit.rlim_cur < needed + kOtherDescriptors) {
    limit.rlim_cur = std::min<rlim_t>(needed + kOtherDescriptors, limit.rlim_max);
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  }
  if (most >= needed) return absl::OkStatus();
  return ConfigError(
      absl::StrCat(context, " matches ", shards, " files, but this process may open only ", most,
                   " of the ", needed,
                   " files that it needs; raise that limit (LimitNOFILE, ulimit -n), or "
                   "write larger shards"));
}

}  // namespace

absl::StatusOr<Dataset> Dataset::Open(const DatasetOptions& options) {
  DT_CHECK(options.seq_len > 0 && options.vocab_size > 0);
  Dataset dataset;
  dataset.options_ = options;
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                      corpus::ResolveGlob(options.data_root, options.field, options.pattern));
  if (paths.size() > kShardsMax) {
    return ConfigError(options.field + " '" + options.pattern + "' matches " +
                       std::to_string(paths.size()) + " files; at most " +
                       std::to_string(kShardsMax) + " are read: write larger shards");
  }
  DT_RETURN_IF_ERROR(MakeRoomFor(paths.size(), options.field + " '" + options.pattern + "'"));
  const auto seq_len = static_cast<uint64_t>(options.seq_len);
  dataset.first_window_.push_back(0);
  for (const std::string& path : paths) {
    DT_ASSIGN_OR_RETURN(corpus::TokenShard shard, corpus::TokenShard::Open(path, options.format));
    dataset.tokens_ += shard.tokens();
    dataset.first_window_.push_back(dataset.first_window_.back() + (shard.tokens() - 1) / seq_len);
    dataset.shards_.push_back(std::move(shard));
  }
  DT_RETURN_IF_ERROR(dataset.CheckSize());
  DT_ASSIGN_OR_RETURN(dataset.fingerprint_, corpus::Fingerprint(paths));
  dataset.paths_ = paths;
  return dataset;
}

absl::Status Dataset::CheckSize() const {
  const bool usable = std::any_of(shards_.begin(), shards_.end(), [this](const auto& shard) {
    return shard.tokens() > (options_.by_tokens ? 1 : static_cast<uint64_t>(options_.seq_len));
  });
  if (usable) return absl::OkStatus();
  const std::string needed = options_.by_tokens
                                 ? std::string("a validation needs 2")
                                 : absl::StrCat("one sample of train.seq_len ", options_.seq_len,
                                                " needs ", options_.seq_len + 1);
  const std::string held =
      shards_.size() == 1
          ? absl::StrCat("the file of '", options_.pattern, "' has ")
          : absl::StrCat("the ", shards_.size(), " files of '", options_.pattern, "' have ");
  return DataError(
      absl::StrCat(held, tokens_, tokens_ == 1 ? " token; " : " tokens; ", needed, " in one file"));
}

absl::Status Dataset::ReadWindow(uint64_t window, std::span<uint16_t> ids) const {
  DT_CHECK(window < windows());
  DT_CHECK(static_cast<int64_t>(ids.size()) == options_.seq_len + 1);
  const auto after = std::upper_bound(first_window_.begin(), first_window_.end(), window);
  const auto index = static_cast<size_t>(after - first_window_.begin()) - 1;
  return Read(index, (window - first_window_[index]) * static_cast<uint64_t>(options_.seq_len),
              ids);
}

std::vector<uint64_t> Dataset::ShardTokens() const {
  std::vector<uint64_t> tokens;
  for (const corpus::TokenShard& shard : shards_) tokens.push_back(shard.tokens());
  return tokens;
}

absl::Status Dataset::Read(uint64_t index, uint64_t first, std::span<uint16_t> ids) const {
  const corpus::TokenShard& shard = shards_.at(index);
  DT_RETURN_IF_ERROR(shard.Read(first, ids));
  const auto largest = std::max_element(ids.begin(), ids.end());
  if (*largest >= options_.vocab_size) {
    return DataError("'" + shard.path() + "' has id " + std::to_string(*largest) + " at token " +
                     std::to_string(first + static_cast<uint64_t>(largest - ids.begin())) +
                     "; model.vocab_size is " + std::to_string(options_.vocab_size) +
                     ": was it made by another tokenizer?");
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
