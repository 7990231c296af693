// kinds_test.cc: names and words of environments of each kind.
#include "worker/environments/kinds.h"

#include <string>

#include "gtest/gtest.h"

namespace dt::environments {
namespace {

const std::string kImage = "x@sha256:" + std::string(64, 'a');

TEST(KindsTest, AnEnvironmentIsSharedByItsContentAlone) {
  const Wanted image{.image = "x:1"};
  const auto name = StoreName(image, "# image: x:1\n" + kImage + "\n");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(*name, *StoreName({.image = "x:latest"}, "# image: x:latest\n" + kImage + "\n"));
  EXPECT_NE(*name, *StoreName({.conda = "e.yml"}, kImage));
  EXPECT_FALSE(StoreName(image, "").ok());
}

TEST(KindsTest, ItsContentAndTheWorkOfTheFirstTrialAreInWords) {
  EXPECT_EQ(ContentText({.uv = {"a"}}, "a==1\nb==2\n"), "2 packages");
  EXPECT_EQ(ContentText({.conda = "e.yml"}, "@EXPLICIT\nhttps://x/a.conda\n"), "1 package");
  EXPECT_EQ(ContentText({.image = "x:1"}, "# image: x:1\n" + kImage + "\n"),
            "image x@sha256:aaaaaaaaaaaa");
  EXPECT_EQ(ContentText({.modules = {"a", "b"}}, ""), "modules a, b");
  EXPECT_EQ(ResolvingText({.image = "x:1"}), "pulls its image");
  EXPECT_FALSE(IsResolved({.modules = {"a"}}));
}

}  // namespace
}  // namespace dt::environments
