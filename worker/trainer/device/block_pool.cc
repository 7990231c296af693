// block_pool.cc: a pool of memory mappings, ordered by size.
#include "worker/trainer/device/block_pool.h"

#include <sys/mman.h>

#include "common/check.h"

namespace dt::trainer {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

void* BlockPool::Take(size_t bytes) {
  const size_t asked = (bytes + kPage - 1) / kPage * kPage;
  const std::lock_guard lock(mutex_);
  // Reuse a slightly larger block too: at most one eighth is wasted.
  const auto found = kept_.lower_bound(asked);
  if (found != kept_.end() && found->first <= asked + asked / 8) {
    void* const block = found->second;
    taken_[block] = {found->first, asked};
    kept_bytes_ -= found->first;
    kept_.erase(found);
    return block;
  }
  const auto map = [asked] {
    return mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* block = map();
  if (block == MAP_FAILED && !kept_.empty()) {
    ReleaseLocked();
    block = map();
  }
  if (block == MAP_FAILED) return nullptr;
  taken_[block] = {asked, asked};
  return block;
}

size_t BlockPool::BytesOf(const void* block) const {
  // Blocks from malloc rarely start at a page boundary, so most lookups end here.
  if (reinterpret_cast<uintptr_t>(block) % kPage != 0) return 0;
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(block);
  return found == taken_.end() ? 0 : found->second.asked;
}

void BlockPool::Give(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(block);
  DT_CHECK(found != taken_.end());
  kept_.emplace(found->second.mapped, block);
  kept_bytes_ += found->second.mapped;
  taken_.erase(found);
}

void BlockPool::Release() {
  const std::lock_guard lock(mutex_);
  ReleaseLocked();
}

size_t BlockPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

void BlockPool::ReleaseLocked() {
  for (const auto& [bytes, block] : kept_) munmap(block, bytes);
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace dt::trainer
