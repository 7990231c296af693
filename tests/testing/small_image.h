// small_image.h: a podman of the test's own, with a small image of busybox, and no registry.
//
// Ownership: a folder with all of podman's storage. The test removes its containers.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/read_output.h"
#include "common/spawn.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

class SmallImage {
 public:
  static constexpr char kName[] = "localhost/small:1";

  // Makes the image. Returns why that is not possible here; "": it is there.
  std::string Make() {
    if (access(kPodman, X_OK) != 0 || access(kBusybox, X_OK) != 0) {
      return "podman or busybox-static is not installed; ./dev setup --programs installs them";
    }
    folder_.Write("storage.conf",
                  absl::StrCat("[storage]\ndriver = \"vfs\"\ngraphroot = \"", folder_ / "graph",
                               "\"\nrunroot = \"", folder_ / "run", "\"\n"));
    const std::string bin = folder_ / "image/bin";
    std::filesystem::create_directories(bin);
    for (const char* folder : {"tmp", "etc", "proc", "sys", "dev"}) {
      std::filesystem::create_directories(folder_ / "image/" + folder);
    }
    std::filesystem::copy_file(kBusybox, bin + "/busybox");
    for (const char* name :
         {"sh", "cat", "echo", "env", "sleep", "ls", "id", "mkfifo", "tail", "touch"}) {
      std::filesystem::create_symlink("busybox", bin + "/" + name);
    }
    folder_.Write("image/etc/mark", "within the image\n");
    Shell(absl::StrCat("tar -C ", folder_ / "image", " -cf ", folder_ / "image.tar", " ."));
    std::string words;
    // A container that runs tests may be refused what podman does by default.
    for (const std::string& settings : {std::string(), Restricted()}) {
      folder_.Write("containers.conf", settings);
      words = Podman({"import", "--quiet", folder_ / "image.tar", kName}).text;
      const ProgramOutput ran = Podman({"run", "--rm", "--init", "--network=host", "--ipc=host",
                                        "--log-driver=none", kName, "/bin/echo", "runs"});
      if (ran.ok) return "";
      words += ran.text;
    }
    return "podman runs no container here: " + words;
  }
  ~SmallImage() {
    if (std::filesystem::exists(folder_ / "graph")) Podman({"rm", "--all", "--force", "--time=0"});
  }

  // Returns the variables of a worker with this podman.
  Environment Variables() const {
    return EnvironmentWith({{"CONTAINERS_CONF", folder_ / "containers.conf"},
                            {"CONTAINERS_STORAGE_CONF", folder_ / "storage.conf"}});
  }
  ProgramOutput Podman(const std::vector<std::string>& arguments) const {
    SpawnOptions options;
    options.path = kPodman;
    options.arguments = arguments;
    options.environment = Variables();
    return ReadOutput(options, 1 << 20, absl::Seconds(60), StandardError::kRead);
  }
  // Returns the names of all containers.
  std::string Containers() const { return Podman({"ps", "--all", "--format", "{{.Names}}"}).text; }

 private:
  static constexpr char kPodman[] = "/usr/bin/podman";
  static constexpr char kBusybox[] = "/bin/busybox";

  static void Shell(const std::string& script) {
    SpawnOptions options;
    options.path = "/bin/sh";
    options.arguments = {"-c", script};
    EXPECT_TRUE(ReadOutput(options, 1 << 16, absl::Seconds(60)).ok) << script;
  }
  // Returns settings that raise no limit, and use runc, which knows control groups of version 1.
  static std::string Restricted() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    return absl::StrCat("[engine]\nruntime = \"runc\"\n[containers]\ndefault_ulimits = [\"nofile=",
                        files.rlim_cur, ":", files.rlim_cur, "\", \"nproc=32768:32768\"]\n");
  }

  TempFolder folder_;
};

}  // namespace dt::testing
