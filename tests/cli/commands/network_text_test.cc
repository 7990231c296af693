// network_text_test.cc: figures as a table, and the slots that a measurement uses.
#include "cli/commands/network_text.h"

#include <gtest/gtest.h>

namespace dt::cli {
namespace {

v1::NetworkFigure Figure(const std::string& op, uint64_t bytes, double seconds) {
  v1::NetworkFigure figure;
  figure.set_op(op);
  figure.set_axis("data");
  figure.set_ranks(4);
  figure.set_hosts(2);
  figure.set_over("nccl");
  figure.set_bytes(bytes);
  figure.set_rounds(5);
  figure.set_seconds(seconds);
  figure.set_least_seconds(0.9 * seconds);
  figure.set_most_seconds(1.1 * seconds);
  return figure;
}

std::string Row(const Listing& listing, size_t row) {
  std::string text;
  for (const Cell& cell : listing.table.rows[row]) text += (text.empty() ? "" : "|") + cell.text;
  return text;
}

TEST(NetworkTextTest, BusBandwidthIsWithTheFactorOfTheOperationAndItsRanks) {
  const Listing listing =
      NetworkListing({Figure("all_gather", 1 << 20, 1e-3), Figure("all_reduce", 2 << 20, 2e-3),
                      Figure("all_reduce", 1 << 20, 1e-3)});
  ASSERT_EQ(listing.table.rows.size(), 3u);
  EXPECT_EQ(Row(listing, 0), "all_reduce|data|4|2|nccl|1.00 MiB|1 ms|1000 MiB/s|1.46 GiB/s|5|20%");
  EXPECT_EQ(Row(listing, 2), "all_gather|data|4|2|nccl|1.00 MiB|1 ms|1000 MiB/s|750 MiB/s|5|20%");
  EXPECT_NEAR(listing.items[1]["algorithm_bandwidth"].get<double>(), (2 << 20) / 2e-3, 1);
  EXPECT_NEAR(listing.items[1]["bus_bandwidth"].get<double>(), 1.5 * (2 << 20) / 2e-3, 1);
}

TEST(NetworkTextTest, SaysWhichSlotsOnWhichHostsWereMeasured) {
  v1::AttemptSummary attempt;
  for (const char* host : {"a", "b"}) {
    v1::AttemptMember& member = *attempt.add_members();
    member.set_host(host);
    member.set_worker(std::string(host) + "/cuda:0");
    member.set_device_name("H100");
  }
  EXPECT_EQ(MeasuredOn(attempt), "2 ranks on 2 hosts: a/cuda:0, b/cuda:0 (H100)");
}

std::vector<v1::WorkerSummary> Workers(const std::string& device, int idle, int busy) {
  std::vector<v1::WorkerSummary> workers;
  for (int i = 0; i < idle + busy; ++i) {
    v1::WorkerSummary& worker = workers.emplace_back();
    worker.set_device(device);
    worker.set_state(i < idle ? "idle" : "busy");
  }
  return workers;
}

TEST(NetworkTextTest, AMeasurementTakesTheLargestPowerOfTwoOfIdleSlots) {
  EXPECT_EQ(ChooseBenchSlots(Workers("cpu", 7, 9), "", 0)->slots, 4);
  EXPECT_EQ(ChooseBenchSlots(Workers("cpu", 2, 0), "", 0)->device, "cpu");
  EXPECT_EQ(ChooseBenchSlots(Workers("cuda", 8, 0), "", 0)->device, "cuda");
  EXPECT_EQ(ChooseBenchSlots(Workers("cpu", 7, 9), "", 6)->slots, 6);
}

TEST(NetworkTextTest, WithFewIdleSlotsItWaitsForAllConnectedOnes) {
  EXPECT_EQ(ChooseBenchSlots(Workers("cpu", 1, 3), "", 0)->slots, 4);
  EXPECT_EQ(ChooseBenchSlots(Workers("cpu", 0, 3), "", 3)->slots, 3);
}

TEST(NetworkTextTest, DisconnectedSlotsAreNotWaitedFor) {
  const auto one = ChooseBenchSlots(Workers("cpu", 1, 0), "", 0);
  EXPECT_EQ(one.status().message(),
            "a measurement between 2 slots or more needs as many cpu slots, and 1 is connected; "
            "start more workers");
  const auto eight = ChooseBenchSlots(Workers("cpu", 4, 0), "", 8);
  EXPECT_EQ(eight.status().message(),
            "a measurement between 8 slots needs as many cpu slots, and 4 are connected; start "
            "more workers, or ask for fewer with --gpus");
  EXPECT_FALSE(ChooseBenchSlots(Workers("cpu", 4, 0), "cuda", 0).ok());
  std::vector<v1::WorkerSummary> drained = Workers("cpu", 2, 0);
  drained[0].set_mark("drained by ann");
  EXPECT_FALSE(ChooseBenchSlots(drained, "", 0).ok());
}

}  // namespace
}  // namespace dt::cli
