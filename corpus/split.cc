// split.cc: see split.h.
#include "corpus/split.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dt::corpus {

Split::Split(std::string folder, std::string name, uint64_t shard_tokens, ShardFormat format)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shard_tokens_(shard_tokens),
      format_(format) {}

Result<void> Split::Append(std::span<const uint16_t> ids) {
  while (!ids.empty()) {
    if (!writer_) DT_TRY(Begin());
    const size_t taken = std::min<uint64_t>(ids.size(), shard_tokens_ - writer_->tokens());
    DT_TRY(writer_->Append(ids.first(taken)));
    tokens_ += taken;
    ids = ids.subspan(taken);
    if (writer_->tokens() == shard_tokens_) DT_TRY(Finish());
  }
  return {};
}

Result<void> Split::Finish() {
  if (!writer_) return {};
  DT_TRY(writer_->Finish());
  writer_.reset();
  return {};
}

Result<void> Split::Sync() { return writer_ ? writer_->Sync() : Result<void>(); }

Result<void> Split::Resume(uint64_t tokens) {
  DT_CHECK(tokens_ == 0);
  while (tokens - tokens_ >= shard_tokens_) {
    const std::string path = NextPath();
    DT_TRY_ASSIGN(const TokenShard shard, TokenShard::Open(path, format_));
    if (shard.tokens() != shard_tokens_) {
      return Error{ErrorKind::kData, "'" + path + "' is not the shard that was written"};
    }
    tokens_ += shard_tokens_;
  }
  if (tokens == tokens_) return {};
  DT_TRY_ASSIGN(writer_, ShardWriter::Reopen(NextPath(), format_, tokens - tokens_));
  tokens_ = tokens;
  return {};
}

Result<void> Split::Begin() {
  DT_TRY_ASSIGN(writer_, ShardWriter::Create(NextPath(), format_));
  return {};
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
