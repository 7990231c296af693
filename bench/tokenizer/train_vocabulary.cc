#include "bench/tokenizer/train_vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace dt::bench {
namespace {

using Pair = std::pair<int, int>;

struct Word {
  std::vector<int> symbols;
  int64_t count = 0;
};

// Returns GPT-2's printable form of each byte, in UTF-8.
std::vector<std::string> PrintableBytes() {
  std::vector<std::string> printable(256);
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const unsigned point = plain ? byte : next++;
    if (point < 0x80) {
      printable[byte] = {static_cast<char>(point)};
    } else {
      printable[byte] = {static_cast<char>(0xC0 | (point >> 6)),
                         static_cast<char>(0x80 | (point & 0x3F))};
    }
  }
  return printable;
}

std::vector<Word> WordsOf(std::string_view text) {
  std::map<std::string_view, int64_t> counts;
  size_t begin = 0;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ' ' && text[i] != '\n') continue;
    ++counts[text.substr(begin, i - begin)];
    begin = i;
  }
  std::vector<Word> words;
  for (const auto& [bytes, count] : counts) {
    Word word{.symbols = {}, .count = count};
    for (const char byte : bytes) word.symbols.push_back(static_cast<unsigned char>(byte));
    words.push_back(std::move(word));
  }
  return words;
}

class Trainer {
 public:
  explicit Trainer(std::vector<Word> words) : words_(std::move(words)) {
    for (size_t i = 0; i < words_.size(); ++i) Count(i, 1);
  }

  // Returns the most frequent pair, the smallest of equals; its count is 0 if there is none.
  std::pair<Pair, int64_t> Best() const {
    if (by_count_.empty()) return {{0, 0}, 0};
    return {by_count_.begin()->second, -by_count_.begin()->first};
  }

  void Merge(const Pair& pair, int symbol) {
    const std::set<size_t> with = std::move(words_with_[pair]);
    for (const size_t index : with) {
      Count(index, -1);
      std::vector<int>& symbols = words_[index].symbols;
      size_t kept = 0;
      for (size_t i = 0; i < symbols.size(); ++i) {
        const bool here =
            i + 1 < symbols.size() && symbols[i] == pair.first && symbols[i + 1] == pair.second;
        symbols[kept++] = here ? symbol : symbols[i];
        if (here) ++i;
      }
      symbols.resize(kept);
      Count(index, 1);
    }
    words_with_.erase(pair);
  }

 private:
  void Count(size_t index, int64_t sign) {
    const Word& word = words_[index];
    for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      const Pair pair{word.symbols[i], word.symbols[i + 1]};
      int64_t& count = counts_[pair];
      by_count_.erase({-count, pair});
      count += sign * word.count;
      if (count > 0) by_count_.insert({-count, pair});
      if (sign > 0) words_with_[pair].insert(index);
    }
  }

  std::vector<Word> words_;
  std::map<Pair, int64_t> counts_;
  std::set<std::pair<int64_t, Pair>> by_count_;  // pairs above 0, negated: the largest first
  std::map<Pair, std::set<size_t>> words_with_;
};

}  // namespace

std::string TrainVocabulary(std::string_view text, int merges) {
  std::vector<std::string> spelled = PrintableBytes();
  std::string vocabulary = "#version: trained by tokenizer_bench\n";
  Trainer trainer(WordsOf(text));
  for (int merge = 0; merge < merges; ++merge) {
    const auto [pair, count] = trainer.Best();
    if (count < 2) break;
    const std::string &left = spelled[static_cast<size_t>(pair.first)],
                      &right = spelled[static_cast<size_t>(pair.second)];
    vocabulary.append(left).append(" ").append(right).append("\n");
    spelled.push_back(left + right);
    trainer.Merge(pair, static_cast<int>(spelled.size()) - 1);
  }
  return vocabulary;
}

}  // namespace dt::bench
