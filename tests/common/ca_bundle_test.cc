// ca_bundle_test.cc: the authorities' file of each distribution is found.
#include "common/ca_bundle.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(CaBundleTest, TheFileOfThisDistributionIsFoundAndDebiansComesFirst) {
  const testing::TempFolder folder;
  EXPECT_EQ(FindCaBundle(folder.path()), "");
  const auto add = [&](const std::string& path) {
    const std::filesystem::path file = folder.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "PEM";
    return file.string();
  };
  const std::string rhel = add("/etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(FindCaBundle(folder.path()), rhel);
  const std::string debian = add("/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(FindCaBundle(folder.path()), debian);
}

}  // namespace
}  // namespace dt
