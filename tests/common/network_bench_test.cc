// network_bench_test.cc: the texts of a measurement of the network.
#include "common/network_bench.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace dt {
namespace {

using Words = std::vector<std::string>;

NetworkBench Parsed(Words words) {
  words.insert(words.begin(), "dtrain:network");
  const auto bench = ParseNetworkBench(words);
  EXPECT_TRUE(bench.ok()) << bench.status();
  return bench.value_or(NetworkBench());
}
std::string Refused(const std::string& word) {
  const auto bench = ParseNetworkBench({"dtrain:network", word});
  return bench.ok() ? "" : std::string(bench.status().message());
}

TEST(NetworkBenchTest, OnlyTheFirstWordMarksAMeasurement) {
  EXPECT_TRUE(IsNetworkBench(Words{"dtrain:network"}));
  EXPECT_FALSE(IsNetworkBench(Words{"python3", "dtrain:network"}));
  EXPECT_FALSE(IsNetworkBench(Words{}));
}

TEST(NetworkBenchTest, OpsAndSizesAreTakenOnceEachInOneOrder) {
  const NetworkBench bench =
      Parsed({"--sizes=1M,64K,1M", "--ops=broadcast,all_reduce", "--rounds=9"});
  EXPECT_EQ(bench.ops, (std::vector{CollectiveOp::kAllReduce, CollectiveOp::kBroadcast}));
  EXPECT_EQ(bench.sizes, (std::vector<uint64_t>{65536, 1 << 20}));
  EXPECT_EQ(bench.rounds, 9);
  EXPECT_EQ(WordsOf(bench), (Words{"dtrain:network", "--ops=all_reduce,broadcast",
                                   "--sizes=65536,1048576", "--rounds=9"}));
}

TEST(NetworkBenchTest, TheDefaultIsEveryOpAndFourSizes) {
  const NetworkBench bench = Parsed({});
  EXPECT_EQ(bench.ops.size(), 5u);
  EXPECT_EQ(bench.sizes.back(), 64u << 20);
  EXPECT_EQ(bench.rounds, 5);
  const auto again = ParseNetworkBench(WordsOf(bench));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(WordsOf(*again), WordsOf(bench));
}

TEST(NetworkBenchTest, RefusesImpossibleMeasurementsNamingPossibleOnes) {
  EXPECT_EQ(Refused("--ops=all_reduce,recv"),
            "--ops has 'recv'; it is a list of all_reduce, all_gather, reduce_scatter, broadcast, "
            "send");
  EXPECT_EQ(Refused("--sizes=64Q"),
            "--sizes has '64Q'; a size is a number of bytes such as 64K or 16M, from 256 to 1.00 "
            "GiB");
  EXPECT_NE(Refused("--sizes=2G"), "");
  EXPECT_NE(Refused("--sizes=0"), "");
  EXPECT_EQ(Refused("--rounds=101"), "--rounds is '101'; it must be an integer from 1 to 100");
  EXPECT_NE(Refused("--rounds=3x"), "");
  EXPECT_EQ(Refused("--size=1M"),
            "dtrain:network does not know '--size=1M'; it takes --ops=…, --sizes=… and --rounds=…");
  std::string many = "--sizes=256";
  for (int i = 1; i <= 16; ++i) absl::StrAppend(&many, ",", 256 + i);
  EXPECT_EQ(Refused(many), "--sizes has 17 sizes; at most 16 are measured at once");
}

}  // namespace
}  // namespace dt
