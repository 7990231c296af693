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

Result<void> Split::Begin() {
  char number[16];
  std::snprintf(number, sizeof number, "_%06zu.%s", names_.size(),
                format_ == ShardFormat::kNpy ? "npy" : "bin");
  names_.push_back(name_ + number);
  DT_TRY_ASSIGN(writer_, ShardWriter::Create(folder_ + "/" + names_.back(), format_));
  return {};
}

}  // namespace dt::corpus
