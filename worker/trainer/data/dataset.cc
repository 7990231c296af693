// dataset.cc: see dataset.h.
#include "worker/trainer/data/dataset.h"

#include <algorithm>

#include "common/check.h"
#include "corpus/glob.h"

namespace dt::trainer {
namespace {

// Shards stay open; a process may have 1024 descriptors by default and the trainer needs some.
constexpr size_t kShardsMax = 768;

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
  const auto seq_len = static_cast<uint64_t>(options.seq_len);
  dataset.first_window_.push_back(0);
  for (const std::string& path : paths) {
    DT_ASSIGN_OR_RETURN(corpus::TokenShard shard, corpus::TokenShard::Open(path, options.format));
    dataset.tokens_ += shard.tokens();
    dataset.first_window_.push_back(dataset.first_window_.back() + (shard.tokens() - 1) / seq_len);
    dataset.shards_.push_back(std::move(shard));
  }
  if (dataset.windows() == 0) {
    return DataError("the " + std::to_string(paths.size()) + " files of '" + options.pattern +
                     "' have " + std::to_string(dataset.tokens_) +
                     " tokens; one sample of train.seq_len " + std::to_string(seq_len) + " needs " +
                     std::to_string(seq_len + 1) + " in one file");
  }
  DT_ASSIGN_OR_RETURN(dataset.fingerprint_, corpus::Fingerprint(paths));
  return dataset;
}

absl::Status Dataset::ReadWindow(uint64_t window, std::span<uint16_t> ids) const {
  DT_CHECK(window < windows());
  DT_CHECK(static_cast<int64_t>(ids.size()) == options_.seq_len + 1);
  const auto after = std::upper_bound(first_window_.begin(), first_window_.end(), window);
  const auto index = static_cast<size_t>(after - first_window_.begin()) - 1;
  const corpus::TokenShard& shard = shards_[index];
  const uint64_t first = (window - first_window_[index]) * static_cast<uint64_t>(options_.seq_len);
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
