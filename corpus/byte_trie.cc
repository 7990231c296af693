// byte_trie.cc: builds the double array, parents first, each at a base where its children fit.
#include "corpus/byte_trie.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace dt::corpus {
namespace {

constexpr uint32_t kByteValues = 256;
constexpr uint32_t kFar = 64;

}  // namespace

struct ByteTrie::Builder {
  // The words [low, high) of the sorted list share their first `depth` bytes.
  struct Range {
    uint32_t node;  // the node for these bytes
    uint32_t low;
    uint32_t high;
    uint32_t depth;
  };

  Builder(ByteTrie& trie, std::span<const Word> unsorted)
      : nodes(trie.nodes_), words(unsorted), order(unsorted.size()) {
    std::iota(order.begin(), order.end(), uint32_t{0});
    std::sort(order.begin(), order.end(),
              [this](uint32_t a, uint32_t b) { return words[a].bytes < words[b].bytes; });
  }

  std::string_view Bytes(uint32_t i) const { return words[order[i]].bytes; }

  // Returns the words that continue after the range's shared bytes, grouped by their next byte.
  std::vector<Range> ChildrenOf(const Range& range) const {
    std::vector<Range> children;
    for (uint32_t i = range.low; i < range.high; ++i) {
      if (Bytes(i).size() == range.depth) continue;
      const char byte = Bytes(i)[range.depth];
      if (children.empty() || Bytes(children.back().low)[range.depth] != byte) {
        children.push_back({0, i, i, range.depth + 1});
      }
      children.back().high = i + 1;
    }
    return children;
  }

  bool Fits(uint32_t base, const std::vector<unsigned char>& bytes) {
    if (nodes.size() < base + size_t{kByteValues}) nodes.resize(base + size_t{kByteValues});
    if (taken.size() <= base) taken.resize(nodes.size());
    return !taken[base] && std::all_of(bytes.begin(), bytes.end(), [&](unsigned char byte) {
      return nodes[base + byte].label == kFree;
    });
  }

  // An only child fits into gaps that several children do not. Each kind starts its search where
  // the last distant gap was found: a few gaps are lost, and building takes a hundredth of the
  // time.
  uint32_t Place(const std::vector<unsigned char>& bytes) {
    uint32_t& from = bytes.size() == 1 ? only_from : several_from;
    const uint32_t begin = from > bytes.front() ? from - bytes.front() : 1;
    uint32_t base = begin;
    while (!Fits(base, bytes)) ++base;
    if (base - begin > kFar) from = base + bytes.front();
    taken[base] = true;
    return base;
  }

  void Build() {
    nodes.assign(kByteValues, {});
    taken.assign(kByteValues, false);
    taken[kRoot] = true;
    std::deque<Range> open = {{.node = 0, .low = 0, .high = Count(), .depth = 0}};
    std::vector<uint32_t> leaves;
    for (; !open.empty(); open.pop_front()) {
      const Range range = open.front();
      const std::vector<Range> children = ChildrenOf(range);
      if (children.empty()) {
        leaves.push_back(range.node);
        continue;
      }
      std::vector<unsigned char> bytes;
      bytes.reserve(children.size());
      for (const Range& child : children) {
        bytes.push_back(static_cast<unsigned char>(Bytes(child.low)[range.depth]));
      }
      const uint32_t base = range.depth == 0 ? kRoot : Place(bytes);
      if (range.depth > 0) nodes[range.node].base = base;
      for (size_t i = 0; i < children.size(); ++i) {
        Range child = children[i];
        child.node = base + bytes[i];
        const bool word = Bytes(child.low).size() == child.depth;
        nodes[child.node] = {0, word ? words[order[child.low]].value : kNone, bytes[i]};
        open.push_back(child);
      }
    }
    // A leaf's children would lie behind everything else, where nothing is.
    const auto nowhere = static_cast<uint32_t>(nodes.size());
    nodes.resize(nodes.size() + kByteValues);
    for (const uint32_t leaf : leaves) {
      if (nodes[leaf].label != kFree) nodes[leaf].base = nowhere;
    }
  }
  uint32_t Count() const { return static_cast<uint32_t>(words.size()); }

  std::vector<Node>& nodes;
  const std::span<const Word> words;
  std::vector<uint32_t> order;  // of the words, sorted
  std::vector<bool> taken;      // bases
  uint32_t only_from = 0;       // where to start the search for a place
  uint32_t several_from = 0;
};

ByteTrie::ByteTrie() : nodes_(kByteValues) {}

ByteTrie::ByteTrie(std::span<const Word> words) { Builder(*this, words).Build(); }

}  // namespace dt::corpus
