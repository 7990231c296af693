// install_form.h: how this dtrain was installed, and so how its trainer gets a LibTorch.
//
// Role:    the fix of "no trainer" differs: a wheel has an extra, a Debian package brings LibTorch,
//          an archive needs the place of a PyTorch, and a build tree is built again. FormOf and the
//          texts are pure; FactsOf looks at a few names beside the program.
// Threads: any.
// Tests:   tests/worker/starter/install_form_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dt {

enum class InstallForm {
  kWheel,    // pip or uv put the programs into bin/ of an environment
  kDebian,   // below /usr, where only packages put programs
  kArchive,  // unpacked or installed anywhere else
  kBuild     // a build tree
};

// Facts about the folder above that of a program.
struct InstallFacts {
  std::string prefix;    // without symbolic links
  bool wheel = false;    // a folder of Python packages below it has dtrain's metadata
  bool pip = false;      // it has a pip of its own
  bool uv_tool = false;  // uv made the environment for dtrain alone
  bool build = false;    // CMake configured it
};

InstallForm FormOf(const InstallFacts& facts);
// Looks at the files around a program. `program`: its path, without symbolic links.
InstallFacts FactsOf(const std::string& program);

// Returns what to do so that a trainer finds LibTorch; `minors`: versions such as 2.11 that have a
// trainer, none if only the program itself knows its version.
std::string TorchFix(const InstallFacts& facts, const std::vector<std::string>& minors);
// Returns what to do where there is no trainer at all.
std::string TrainerFix(const InstallFacts& facts);
// Returns what to do where there is a trainer for CPUs alone.
std::string CudaFix(const InstallFacts& facts);

}  // namespace dt
