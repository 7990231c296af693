// outer_sgd_test.cc: the outer optimizer against torch.optim.SGD(nesterov=True), computed by hand.
#include "worker/trainer/optim/outer_sgd.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

// A parameter of two numbers, which ranks move during their steps.
class OuterSgdTest : public ::testing::Test {
 protected:
  OuterSgdTest() { home_.Keep("w", at::tensor({1.0, 2.0}, at::kFloat)); }

  void Leave(double first, double second) {
    home_.pieces()[0].value.detach().copy_(at::tensor({first, second}, at::kFloat));
  }
  void Expect(double first, double second) const {
    const at::Tensor value = home_.pieces()[0].value.detach();
    EXPECT_NEAR(value[0].item<double>(), first, 1e-6);
    EXPECT_NEAR(value[1].item<double>(), second, 1e-6);
  }
  WholeHome home_{at::kCPU};
};

TEST_F(OuterSgdTest, WithRateOneAndNoMomentumItIsTheMeanItself) {
  OuterSgd outer(home_.pieces(), {});
  Leave(0.5, 2.5);
  outer.Step();
  Expect(0.5, 2.5);
  EXPECT_TRUE(outer.State().empty()) << "nothing to save";
}

TEST_F(OuterSgdTest, MomentumFollowsNesterov) {
  OuterSgd outer(home_.pieces(), {.lr = 0.5, .momentum = 0.9});
  Leave(0.8, 2.0);
  outer.Step();  // gradient 0.2: momentum 0.2, step 0.2 + 0.9 × 0.2
  Expect(1 - 0.5 * 0.38, 2.0);
  EXPECT_NEAR(outer.State()[0].value[0].item<double>(), 0.2, 1e-6);
  Leave(0.81 - 0.1, 2.0);
  outer.Step();  // gradient 0.1: momentum 0.9 × 0.2 + 0.1, step 0.1 + 0.9 × 0.28
  Expect(0.81 - 0.5 * 0.352, 2.0);
  EXPECT_EQ(outer.State()[0].name, "outer.w");
  EXPECT_NEAR(outer.State()[0].value[0].item<double>(), 0.28, 1e-6);
}

TEST_F(OuterSgdTest, AStepBeginsAtTheNotedParameters) {
  OuterSgd outer(home_.pieces(), {.lr = 2, .momentum = 0.5});
  Leave(5, 5);
  outer.Restart();
  Leave(4, 5);
  outer.Step();  // gradient 1, step 1.5
  Expect(5 - 2 * 1.5, 5);
}

}  // namespace
}  // namespace dt::trainer
