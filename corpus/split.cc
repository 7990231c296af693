// split.cc: see split.h.
#include "corpus/split.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/check.h"

namespace dt::corpus {

Split::Split(std::string folder, std::string name, uint64_t shard_tokens, ShardFormat format)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shard_tokens_(shard_tokens),
      format_(format) {}

absl::Status Split::Append(std::span<const uint16_t> ids) {
  while (!ids.empty()) {
    if (!writer_) DT_RETURN_IF_ERROR(Begin());
    const size_t taken = std::min<uint64_t>(ids.size(), shard_tokens_ - writer_->tokens());
    DT_RETURN_IF_ERROR(writer_->Append(ids.first(taken)));
    tokens_ += taken;
    ids = ids.subspan(taken);
    if (writer_->tokens() == shard_tokens_) DT_RETURN_IF_ERROR(Finish());
  }
  return absl::OkStatus();
}

absl::Status Split::Finish() {
  if (!writer_) return absl::OkStatus();
  DT_RETURN_IF_ERROR(writer_->Finish());
  writer_.reset();
  return absl::OkStatus();
}

absl::Status Split::Sync() { return writer_ ? writer_->Sync() : absl::Status(); }

absl::Status Split::Resume(uint64_t tokens) {
  DT_CHECK(tokens_ == 0);
  while (tokens - tokens_ >= shard_tokens_) {
    const std::string path = NextPath();
    DT_ASSIGN_OR_RETURN(const TokenShard shard, TokenShard::Open(path, format_));
    if (shard.tokens() != shard_tokens_) {
      return DataError("'" + path + "' is not the shard that was written");
    }
    tokens_ += shard_tokens_;
  }
  if (tokens == tokens_) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(writer_, ShardWriter::Reopen(NextPath(), format_, tokens - tokens_));
  tokens_ = tokens;
  return absl::OkStatus();
}

absl::Status Split::Begin() {
  DT_ASSIGN_OR_RETURN(writer_, ShardWriter::Create(NextPath(), format_));
  return absl::OkStatus();
}

std::string Split::NextPath() {
  names_.push_back(ShardName(name_, names_.size(), format_));
  return folder_ + "/" + names_.back();
}

std::string ShardName(const std::string& split, uint64_t index, ShardFormat format) {
  char number[32];
  std::snprintf(number, sizeof number, "_%06llu.%s", static_cast<unsigned long long>(index),
                format == ShardFormat::kNpy ? "npy" : "bin");
  return split + number;
}

}  // namespace dt::corpus
