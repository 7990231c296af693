#include "corpus/byte_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace dt::corpus {
namespace {

uint16_t Longest(const ByteTrie& trie, std::string_view text) {
  const auto* const start = reinterpret_cast<const unsigned char*>(text.data());
  return trie.Longest(start, start + text.size());
}

TEST(ByteTrieTest, FindsTheLongestWordThatBeginsAText) {
  const std::vector<ByteTrie::Word> words = {{"a", 7}, {"abc", 5}, {"b", 0}, {"\xFF\xFF", 3}};
  const ByteTrie trie(words);
  EXPECT_EQ(Longest(trie, "a"), 7);
  EXPECT_EQ(Longest(trie, "ab"), 7);
  EXPECT_EQ(Longest(trie, "abcd"), 5);
  EXPECT_EQ(Longest(trie, "ba"), 0);
  EXPECT_EQ(Longest(trie, "\xFF\xFF\xFF"), 3);
  EXPECT_EQ(Longest(trie, "\xFF"), ByteTrie::kNone);
  EXPECT_EQ(Longest(trie, "ca"), ByteTrie::kNone);
  EXPECT_EQ(Longest(trie, ""), ByteTrie::kNone);
}

TEST(ByteTrieTest, WithoutWordsFindsNone) {
  EXPECT_EQ(Longest(ByteTrie(), "a"), ByteTrie::kNone);
  EXPECT_EQ(Longest(ByteTrie(std::vector<ByteTrie::Word>()), "a"), ByteTrie::kNone);
}

TEST(ByteTrieTest, RandomWordsAreFoundAsAListFindsThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    // Few letters make long chains, many letters make wide nodes.
    const uint32_t letters = round % 3 == 0 ? 2 : round % 3 == 1 ? 30 : 256;
    const auto draw = [&](size_t bytes) {
      std::string text;
      while (text.size() < bytes) text += static_cast<char>(255 - random() % letters);
      return text;
    };
    std::set<std::string> distinct;
    for (int i = 0; i < 400; ++i) distinct.insert(draw(1 + random() % 8));
    const std::vector<std::string> kept(distinct.begin(), distinct.end());
    std::vector<ByteTrie::Word> words;
    for (size_t i = 0; i < kept.size(); ++i) words.push_back({kept[i], static_cast<uint16_t>(i)});
    std::shuffle(words.begin(), words.end(), random);
    const ByteTrie trie(words);
    for (int i = 0; i < 400; ++i) {
      const std::string text = i % 2 == 0 ? draw(random() % 12) : kept[random() % kept.size()];
      uint16_t longest = ByteTrie::kNone;
      size_t bytes = 0;
      for (const ByteTrie::Word& word : words) {
        if (!text.starts_with(word.bytes) || word.bytes.size() < bytes) continue;
        longest = word.value;
        bytes = word.bytes.size();
      }
      ASSERT_EQ(Longest(trie, text), longest);
    }
  }
}

}  // namespace
}  // namespace dt::corpus
