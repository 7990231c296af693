// mesh_test.cc: a rank without peers, and the order of a step.
#include "worker/trainer/parallel/mesh.h"

#include <gtest/gtest.h>

#include "worker/trainer/parallel/actions.h"

namespace dt::trainer {
namespace {

TEST(MeshTest, ARankWithoutPeersGetsBackWhatItGave) {
  Mesh mesh;
  for (const Axis axis : {Axis::kWorld, Axis::kData}) {
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
  mesh.RequireIntact();  // there is nothing that could have failed
}

TEST(StepActionsTest, EachBackwardPassFollowsItsForwardPassAndTheLastOneCommunicates) {
  using Kind = Action::Kind;
  EXPECT_EQ(StepActions(1),
            (std::vector<Action>{{Kind::kForward, 0, false}, {Kind::kBackward, 0, true}}));
  EXPECT_EQ(StepActions(3), (std::vector<Action>{{Kind::kForward, 0, false},
                                                 {Kind::kBackward, 0, false},
                                                 {Kind::kForward, 1, false},
                                                 {Kind::kBackward, 1, false},
                                                 {Kind::kForward, 2, false},
                                                 {Kind::kBackward, 2, true}}));
}

}  // namespace
}  // namespace dt::trainer
