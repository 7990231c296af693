// agreement_test.cc: the hash of parameters, and the message about a difference between ranks.
#include "worker/trainer/parallel/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace dt::trainer {
namespace {

at::Tensor Random(int64_t size) {
  auto generator = at::detail::createCPUGenerator(7);
  return at::empty({size}).normal_(0, 1, generator);
}

TEST(AgreementTest, TheHashFollowsEveryBitAndEveryPlace) {
  const at::Tensor small = Random(65), large = Random((1 << 20) + 3);  // two chunks
  const uint64_t hash = HashBits({small, large});
  EXPECT_EQ(HashBits({small.clone(), large.clone()}), hash);
  EXPECT_NE(HashBits({large, small}), hash);
  for (const int64_t place : {int64_t{0}, int64_t{1} << 20, large.numel() - 1}) {
    for (int bit = 0; bit < 32; ++bit) {
      auto* word = reinterpret_cast<uint32_t*>(large.mutable_data_ptr<float>()) + place;
      *word ^= uint32_t{1} << bit;
      EXPECT_NE(HashBits({small, large}), hash) << "bit " << bit << " of " << place;
      *word ^= uint32_t{1} << bit;
    }
  }
  EXPECT_EQ(HashBits({small, large}), hash);
  float* values = small.mutable_data_ptr<float>();
  std::swap(values[3], values[50]);
  EXPECT_NE(HashBits({small, large}), hash);
}

TEST(AgreementTest, ZerosOfEitherSignAndNaNsAreDistinguishedByTheirBits) {
  const auto hash = [](float value) { return HashBits({at::full({5}, value)}); };
  EXPECT_NE(hash(0.0F), hash(-0.0F));
  EXPECT_EQ(hash(std::nanf("")), hash(std::nanf("")));
}

std::string MessageFor(const std::vector<uint64_t>& hashes, std::vector<int64_t> sets = {}) {
  sets.resize(hashes.size());
  const absl::Status agreed = CheckAgreement(hashes, sets, 40);
  if (agreed.ok()) return "";
  EXPECT_EQ(agreed.code(), kDamagedError);
  return std::string(agreed.message());
}

TEST(AgreementTest, OnlyRanksThatHoldCopiesAreCompared) {
  EXPECT_EQ(MessageFor({1, 2, 1, 2}, {0, 1, 0, 1}), "");
  EXPECT_EQ(MessageFor({1, 2, 3, 4}, {0, 1, 2, 3}), "");
  EXPECT_TRUE(
      MessageFor({1, 2, 1, 7, 1, 2}, {0, 1, 0, 1, 0, 1})
          .starts_with("after step 40 the parameters of rank 3 differ from those of the other "
                       "2 ranks"));
  EXPECT_NE(MessageFor({1, 2, 4, 2}, {0, 1, 0, 1}).find("rank 0 and rank 2 differ"),
            std::string::npos);
  constexpr int64_t kNobody = Strategy::Copies::kNobody;
  EXPECT_EQ(MessageFor({1, 2, 3, 1}, {0, kNobody, kNobody, 0}), "");
}

TEST(AgreementTest, NeighboursMayHoldTheSameCopy) {
  const std::vector<int64_t> pairs = {0, 0, 1, 1, 0, 0, 1, 1};
  EXPECT_EQ(MessageFor({1, 1, 2, 2, 1, 1, 2, 2}, pairs), "");
  EXPECT_NE(
      MessageFor({1, 1, 2, 2, 1, 1, 2, 3}, pairs).find("rank 7 differ from those of the other 3"),
      std::string::npos);
}

TEST(AgreementTest, NamesTheRanksThatDifferFromTheMajority) {
  EXPECT_EQ(MessageFor({5}), "");
  EXPECT_EQ(MessageFor({5, 5, 5}), "");
  EXPECT_TRUE(
      MessageFor({5, 5, 6, 5})
          .starts_with(
              "after step 40 the parameters of rank 2 differ from those of the other 3 ranks"));
  EXPECT_TRUE(
      MessageFor({1, 5, 5, 5, 6})
          .starts_with(
              "after step 40 the parameters of ranks 0, 4 differ from those of the other 3 ranks"));
  EXPECT_TRUE(
      MessageFor({5, 6}).starts_with("after step 40 the parameters of rank 0 and rank 1 differ"));
  EXPECT_TRUE(MessageFor({5, 6, 6, 5})
                  .starts_with("after step 40 the parameters of ranks 0, 3 and ranks 1, 2 differ"));
}

}  // namespace
}  // namespace dt::trainer
