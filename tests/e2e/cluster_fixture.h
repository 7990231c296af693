// cluster_fixture.h: a cluster that prints its programs' logs when a test fails.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/cluster.h"

namespace dt {

using testing::Await;
using testing::Cluster;
using testing::ProcessAlive;
namespace v1 = ::dtrain::v1;

class ClusterTest : public ::testing::Test {
 protected:
  explicit ClusterTest(testing::Programs programs,
                       testing::Transport transport = testing::Transport::kUnixSocket)
      : cluster_(std::move(programs), transport) {}
  ~ClusterTest() override {
    if (!HasFailure()) return;
    for (const auto& entry : std::filesystem::directory_iterator(cluster_.folder().path())) {
      if (entry.path().extension() != ".log") continue;
      const std::string text = testing::Slurp(entry.path());
      std::cerr << "---- " << entry.path().filename().string() << ", its end:\n"
                << text.substr(text.size() - std::min<size_t>(text.size(), 4000)) << "\n";
    }
  }

  // Starts the coordinator and these workers.
  void Start(const std::vector<std::string>& workers) {
    cluster_.StartCoordinator();
    for (const std::string& name : workers) cluster_.StartWorker(name);
    ASSERT_TRUE(cluster_.AwaitWorkers(workers.size()));
  }
  // Returns the worker that has this rank now.
  std::string WorkerOf(uint64_t experiment, int rank) {
    const v1::TrialSummary summary = cluster_.Trial(experiment);
    return rank < summary.workers_size() ? summary.workers(rank) : "";
  }

  Cluster cluster_;
};

}  // namespace dt
