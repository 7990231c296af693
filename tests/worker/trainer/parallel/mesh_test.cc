// mesh_test.cc: each rank's peers along each axis.
#include "worker/trainer/parallel/mesh.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

TEST(MeshTest, ARankWithoutPeersGetsItsOwnValuesBack) {
  Mesh mesh;
  for (const Axis axis : {Axis::kWorld, Axis::kData, Axis::kTensor, Axis::kPipeline}) {
    EXPECT_EQ(mesh.rank(axis), 0);
    EXPECT_EQ(mesh.size(axis), 1);
    EXPECT_EQ(mesh.group(axis), nullptr);
    EXPECT_EQ(mesh.Gather(axis, {1, 2}), (std::vector<std::vector<double>>{{1, 2}}));
    at::Tensor mine = at::ones({2});
    mesh.BroadcastFromFirst(axis, {mine});
    EXPECT_TRUE(at::equal(mine, at::ones({2})));
  }
  EXPECT_TRUE(mesh.IsRoot());
  mesh.Abort();
  mesh.RequireIntact();  // nothing here can have failed
}

TEST(MeshTest, RanksOfALayerAreNeighboursAndThenThoseThatShareACopy) {
  const std::unique_ptr<Device> device = OpenCpu();
  for (int rank = 0; rank < 12; ++rank) {
    Mesh mesh;
    mesh.Prepare(*device, {.rank = rank, .size = 12, .key_prefix = "a", .listen_host = "127.0.0.1"},
                 {.replicate = 3, .shard = 2, .tensor = 2});
    EXPECT_EQ(mesh.rank(Axis::kTensor), rank % 2);
    EXPECT_EQ(mesh.rank(Axis::kShard), rank / 2 % 2);
    EXPECT_EQ(mesh.rank(Axis::kReplicate), rank / 4);
    EXPECT_EQ(mesh.rank(Axis::kData), rank / 2);
    EXPECT_EQ(mesh.rank(Axis::kWorld), rank);
    EXPECT_EQ(mesh.size(Axis::kData), 6);
  }
}

TEST(MeshTest, AnAxisOfAllRanksIsTheirGroupAndASingleRankHasNone) {
  const std::unique_ptr<Device> device = OpenCpu();
  Mesh layer, copies;
  const GroupOptions four{.rank = 1, .size = 4, .key_prefix = "a", .listen_host = "127.0.0.1"};
  layer.Prepare(*device, four, {.replicate = 1, .shard = 1, .tensor = 4});
  EXPECT_EQ(layer.group(Axis::kTensor), layer.group(Axis::kWorld));
  EXPECT_EQ(layer.group(Axis::kData), nullptr);
  EXPECT_EQ(layer.group(Axis::kShard), nullptr);
  copies.Prepare(*device, four, {.replicate = 2, .shard = 1, .tensor = 2});
  EXPECT_EQ(copies.group(Axis::kReplicate), copies.group(Axis::kData));
  EXPECT_NE(copies.group(Axis::kData), copies.group(Axis::kWorld));
  EXPECT_EQ(copies.group(Axis::kShard), nullptr);
}

TEST(MeshTest, StagesFollowOneAnotherAndOnlyTheirEndsHaveAGroupBetweenThem) {
  const std::unique_ptr<Device> device = OpenCpu();
  for (int rank = 0; rank < 12; ++rank) {
    Mesh mesh;
    mesh.Prepare(*device, {.rank = rank, .size = 12, .key_prefix = "a", .listen_host = "127.0.0.1"},
                 {.replicate = 1, .shard = 2, .tensor = 2, .pipeline = 3, .ends = true});
    EXPECT_EQ(mesh.rank(Axis::kPipeline), rank / 4);
    EXPECT_EQ(mesh.size(Axis::kPipeline), 3);
    EXPECT_EQ(mesh.rank(Axis::kTensor), rank % 2);
    EXPECT_EQ(mesh.rank(Axis::kShard), rank / 2 % 2);
    EXPECT_EQ(mesh.size(Axis::kData), 2);
    const bool is_end = rank / 4 != 1;
    EXPECT_EQ(mesh.size(Axis::kEnds), is_end ? 2 : 1);
    EXPECT_EQ(mesh.rank(Axis::kEnds), rank / 4 == 2 ? 1 : 0);
    EXPECT_EQ(mesh.way(true, 0), nullptr) << "on a CPU a group keeps ways apart by itself";
  }
}

}  // namespace
}  // namespace dt::trainer
