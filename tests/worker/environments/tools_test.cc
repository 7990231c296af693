// tools_test.cc: which kinds of environments a host makes, and how a tool's failure is read.
#include "worker/environments/tools.h"

#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

class ToolsTest : public ::testing::Test {
 protected:
  // Puts a script into the only folder of PATH.
  std::string Put(const std::string& name, const std::string& script) {
    const std::string path = folder_.Write("bin/" + name, "#!/bin/sh\n" + script);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string Why(const std::string& allowed, const std::string& kind) const {
    for (const auto& [each, why] : Abilities(allowed, variables_)) {
      if (each == kind) return why;
    }
    return "no such kind";
  }

  testing::TempFolder folder_;
  const Environment variables_ = {{"PATH", folder_ / "bin"}, {"HOME", folder_ / "home"}};
};

TEST_F(ToolsTest, AKindWithoutItsToolNamesTheToolAndTheFix) {
  EXPECT_EQ(Why("", "uv"), "uv is not installed on its host; install it: pip install uv");
  EXPECT_NE(Why("", "image").find("apt install podman"), std::string::npos);
  EXPECT_NE(Why("", "conda").find("micromamba"), std::string::npos);
  EXPECT_NE(Why("", "module").find("bash"), std::string::npos);
}

TEST_F(ToolsTest, ImagesCondaAndModulesNeedOneOfSeveralTools) {
  Put("bash", "");
  Put("modulecmd", "");
  EXPECT_EQ(Why("", "module"), "");
  const std::string conda = Put("conda", "");
  EXPECT_EQ(FindConda(variables_), conda);
  EXPECT_EQ(Why("", "conda"), "");
  const std::string micromamba = Put("micromamba", "");
  EXPECT_EQ(FindConda(variables_), micromamba);
  const std::string apptainer = Put("apptainer", "");
  EXPECT_EQ(FindRuntime(variables_), apptainer);
  EXPECT_EQ(Why("", "image"), "");
  const std::string podman = Put("podman", "");
  EXPECT_EQ(FindRuntime(variables_), podman);
}

TEST_F(ToolsTest, DockerNeedsItsDaemon) {
  Put("docker", "");
  if (access("/var/run/docker.sock", F_OK) != 0) {
    EXPECT_NE(Why("", "image").find("/var/run/docker.sock"), std::string::npos);
  }
  Environment elsewhere = variables_;
  elsewhere["DOCKER_HOST"] = "unix:///run/user/1000/docker.sock";
  for (const auto& [kind, why] : Abilities("", elsewhere)) {
    EXPECT_TRUE(kind != "image" || why.empty()) << why;
  }
}

TEST_F(ToolsTest, AKindIsMadeOnceItsToolIsThere) {
  Put("uv", "");
  EXPECT_EQ(Why("", "uv"), "");
  EXPECT_EQ(Why("uv,image", "uv"), "");
}

TEST_F(ToolsTest, AnOperatorsListLeavesTheOthersOut) {
  Put("uv", "");
  for (const char* allowed : {"image", "none"}) {
    EXPECT_NE(Why(allowed, "uv").find("--environments"), std::string::npos) << allowed;
  }
}

TEST_F(ToolsTest, AWordThatIsNoKindIsRefused) {
  EXPECT_TRUE(CheckAllowed("uv,module").ok());
  EXPECT_TRUE(CheckAllowed("none").ok());
  EXPECT_FALSE(CheckAllowed("pip").ok());
}

TEST_F(ToolsTest, AFailureIsToldInTheToolsOwnWords) {
  const auto ran = environments::Run(
      {.path = Put("tool", "echo 'error: no such package' >&2; exit 1")}, "uv cannot resolve x");
  EXPECT_EQ(ran.status(), ConfigError("uv cannot resolve x: error: no such package"));
}

TEST_F(ToolsTest, AFullDiskAndALostNetworkAreNoFaultOfThePackages) {
  for (const std::string words : {"No space left on device (os error 28)", "dns error",
                                  "HTTP status server error (503 Service Unavailable)",
                                  "HTTP status client error (429 Too Many Requests)"}) {
    const auto ran =
        environments::Run({.path = Put("tool", "echo '" + words + "'; exit 2")}, "what");
    EXPECT_EQ(ran.status().code(), kIoError) << words;
  }
}

TEST_F(ToolsTest, TheCauseCountsAlsoBehindTheEndOfACutMessage) {
  const std::string script = "printf '%05000d\\nNo space left on device\\n' 0; exit 1";
  const auto ran = environments::Run({.path = Put("tool", script)}, "what");
  EXPECT_EQ(ran.status().code(), kIoError);
  EXPECT_LT(ran.status().message().size(), 3000u);
}

}  // namespace
}  // namespace dt::environments
