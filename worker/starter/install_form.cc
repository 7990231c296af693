// install_form.cc: see install_form.h.
#include "worker/starter/install_form.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

// Entries of a folder of Python packages that are looked at; a full one has hundreds.
constexpr size_t kEntriesLookedAt = 20000;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Returns whether the folder has dtrain-0.2.0.dist-info, which pip writes.
bool HasMetadata(const fs::path& packages) {
  std::error_code error;
  size_t looked_at = 0;
  for (fs::directory_iterator it(packages, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, "dtrain-") && absl::EndsWith(name, ".dist-info")) return true;
    if (++looked_at == kEntriesLookedAt) return false;
  }
  return false;
}

bool IsOfWheel(const fs::path& prefix) {
  if (HasMetadata(prefix)) return true;  // pip install --target
  std::error_code error;
  for (fs::directory_iterator it(prefix / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (!absl::StartsWith(it->path().filename().string(), "python3")) continue;
    if (HasMetadata(it->path() / "site-packages") || HasMetadata(it->path() / "dist-packages")) {
      return true;
    }
  }
  return false;
}

// Returns "torch==2.11.*", or of several versions the newest; "torch" if none is known.
std::string Requirement(const std::vector<std::string>& minors) {
  return minors.empty() ? "torch" : absl::StrCat("torch==", minors.back(), ".*");
}

}  // namespace

InstallForm FormOf(const InstallFacts& facts) {
  if (facts.build) return InstallForm::kBuild;
  if (facts.wheel) return InstallForm::kWheel;
  return facts.prefix == "/usr" ? InstallForm::kDebian : InstallForm::kArchive;
}

InstallFacts FactsOf(const std::string& program) {
  const fs::path prefix = fs::path(program).parent_path().parent_path();
  return {.prefix = prefix.string(),
          .wheel = IsOfWheel(prefix),
          .pip = Exists(prefix / "bin/pip"),
          .uv_tool = Exists(prefix / "uv-receipt.toml"),
          .build = Exists(prefix / "CMakeCache.txt")};
}

std::string TorchFix(const InstallFacts& facts, const std::vector<std::string>& minors) {
  constexpr char kOrFolder[] =
      ", or set DTRAIN_LIBTORCH to a folder that holds torch/ of such a version";
  switch (FormOf(facts)) {
    case InstallForm::kWheel:
      if (facts.uv_tool) {
        return absl::StrCat("uv tool install --force --with \"", Requirement(minors),
                            "\" dtrain, or the wheel's file in place of dtrain", kOrFolder);
      }
      return absl::StrCat(facts.pip ? absl::StrCat(facts.prefix, "/bin/") : "",
                          "pip install \"dtrain[train]\", or \"dtrain[cpu]\" for CPUs alone",
                          kOrFolder);
    case InstallForm::kDebian:
      return "sudo apt install --reinstall dtrain-trainer, or its .deb file, which has LibTorch";
    case InstallForm::kArchive:
      return absl::StrCat("pip install \"", Requirement(minors),
                          "\" into a virtual environment, and start the worker where that is "
                          "active",
                          kOrFolder);
    case InstallForm::kBuild:
      return absl::StrCat("./dev setup and then ./dev build, since ", facts.prefix,
                          " is a build tree");
  }
  return {};
}

std::string TrainerFix(const InstallFacts& facts) {
  switch (FormOf(facts)) {
    case InstallForm::kWheel:
      return "install a wheel with trainers, which ./dev package --wheel makes";
    case InstallForm::kDebian:
      return "sudo apt install dtrain-trainer, or its .deb file";
    case InstallForm::kArchive:
      return absl::StrCat("install dtrain again in ", facts.prefix, ", with its trainer");
    case InstallForm::kBuild:
      return "./dev build makes it";
  }
  return {};
}

std::string CudaFix(const InstallFacts& facts) {
  switch (FormOf(facts)) {
    case InstallForm::kWheel:
      return "install a wheel for GPUs, which ./dev package --wheel --cuda makes";
    case InstallForm::kDebian:
      return "install the package dtrain-trainer for GPUs, which ./dev package --cuda makes";
    case InstallForm::kArchive:
      return "install one for GPUs, which ./dev package --static --cuda makes";
    case InstallForm::kBuild:
      return "./dev setup --cuda and then ./dev build; keep the two together";
  }
  return {};
}

}  // namespace dt
