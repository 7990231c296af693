#include "common/free_name.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(FreeNameTest, ANameThatIsFreeStaysAndOneThatIsTakenGetsThePrefix) {
  std::set<std::string> taken = {"state"};
  EXPECT_EQ(TakeFreeName("lr", kParameterColumn, taken), "lr");
  EXPECT_EQ(TakeFreeName("state", kParameterColumn, taken), "parameters.state");
}

TEST(FreeNameTest, ATakenPrefixedNameGetsAFurtherPrefix) {
  std::set<std::string> taken = {"state"};
  EXPECT_EQ(TakeFreeName("parameters.state", kParameterColumn, taken), "parameters.state");
  EXPECT_EQ(TakeFreeName("state", kParameterColumn, taken), "parameters.parameters.state");
}

}  // namespace
}  // namespace dt
