// torch_choice.cc: see torch_choice.h.
#include "worker/starter/torch_choice.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/files.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kVersionFileBytes = 64 << 10;  // version.py has 0.4 KB
// Returns the numbers of "2.11", to compare; {0, 0} for text of another form.
std::pair<int, int> Numbers(absl::string_view minor) {
  const std::vector<absl::string_view> parts = absl::StrSplit(minor, '.');
  std::pair<int, int> numbers;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &numbers.first) ||
      !absl::SimpleAtoi(parts[1], &numbers.second)) {
    return {0, 0};
  }
  return numbers;
}

// Returns the entries of a folder; none if it cannot be read.
std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void AddTorch(const fs::path& folder, std::vector<Torch>& found) {
  const absl::StatusOr<std::string> text =
      ReadFile((folder / "torch/version.py").string(), kVersionFileBytes);
  if (!text.ok()) return;
  Torch torch{.folder = folder.string(), .version = VersionIn(*text)};
  torch.libraries.push_back((folder / "torch/lib").string());
  for (const fs::path& part : Entries(folder / "nvidia")) {
    std::error_code error;
    if (fs::is_directory(part / "lib", error)) torch.libraries.push_back((part / "lib").string());
  }
  found.push_back(std::move(torch));
}

// Adds the PyTorch of a folder of Python packages, and then dtrain-libtorch.
void AddPackages(const fs::path& packages, std::vector<Torch>& found) {
  AddTorch(packages, found);
  AddTorch(packages / "dtrain_libtorch", found);
}

void AddPrefix(const fs::path& prefix, std::vector<Torch>& found) {
  AddTorch(prefix / "lib/dtrain", found);  // of Debian packages
  AddPackages(prefix, found);              // of pip install --target
  std::vector<fs::path> pythons;
  for (const fs::path& entry : Entries(prefix / "lib")) {
    if (absl::StartsWith(entry.filename().string(), "python3")) pythons.push_back(entry);
  }
  // The newest first: python3.11 before python3.9, and that before python3, which has Debian's
  // packages.
  std::sort(pythons.begin(), pythons.end(), [](const fs::path& a, const fs::path& b) {
    return Numbers(a.filename().string().substr(6)) > Numbers(b.filename().string().substr(6));
  });
  for (const fs::path& python : pythons) {
    AddPackages(python / "site-packages", found);
    AddPackages(python / "dist-packages", found);
  }
}

std::string FaultText(const std::vector<std::string>& minors, const std::vector<Torch>& installed,
                      const TorchPlaces& places, const InstallFacts& facts) {
  const std::string wanted = absl::StrCat("dttrain needs PyTorch ", absl::StrJoin(minors, " or "));
  const std::string fix = TorchFix(facts, minors);
  if (installed.empty()) {
    return absl::StrCat(wanted, ", and there is none in ",
                        places.only.empty() ? absl::StrJoin(places.prefixes, " or ")
                                            : absl::StrCat("DTRAIN_LIBTORCH=", places.only),
                        "; ", fix);
  }
  std::vector<std::string> found;
  found.reserve(installed.size());
  for (const Torch& torch : installed) {
    found.push_back(absl::StrCat(torch.version.empty() ? "one without a version" : torch.version,
                                 " in ", torch.folder));
  }
  return absl::StrCat(wanted, ", and the host has ", absl::StrJoin(found, ", "), "; ", fix);
}

}  // namespace

std::string VersionIn(std::string_view version_py) {
  const absl::string_view text(version_py.data(), version_py.size());
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "__version__")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "=")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (line.size() < 2 || (line[0] != '\'' && line[0] != '"') || line.back() != line[0]) continue;
    return std::string(line.substr(1, line.size() - 2));
  }
  return {};
}

std::string MinorOf(std::string_view version) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::string_view(version.data(), version.size()), '.');
  if (parts.size() < 2) return {};
  std::string minor = absl::StrCat(parts[0], ".", parts[1]);
  return Numbers(minor).first > 0 ? minor : std::string();
}

TrainerChoice ChooseTrainer(const std::string& starter, const std::vector<std::string>& minors,
                            const std::vector<Torch>& installed, const TorchPlaces& places,
                            absl::FunctionRef<InstallFacts()> facts) {
  for (const Torch& torch : installed) {
    const std::string minor = MinorOf(torch.version);
    if (std::find(minors.begin(), minors.end(), minor) == minors.end()) continue;
    return {.program = absl::StrCat(starter, "-", minor),
            .library_path = absl::StrJoin(torch.libraries, ":")};
  }
  return {.fault = FaultText(minors, installed, places, facts())};
}

std::vector<std::string> TrainersBeside(const std::string& starter) {
  const fs::path own(starter);
  const std::string prefix = own.filename().string() + "-";
  std::vector<std::string> minors;
  for (const fs::path& entry : Entries(own.parent_path())) {
    const std::string name = entry.filename().string();
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, prefix) || Numbers(rest).first == 0) continue;
    minors.emplace_back(rest);
  }
  std::sort(minors.begin(), minors.end(),
            [](const std::string& a, const std::string& b) { return Numbers(a) < Numbers(b); });
  return minors;
}

TorchPlaces PlacesFor(const std::string& starter) {
  TorchPlaces places;
  if (const char* only = std::getenv("DTRAIN_LIBTORCH")) places.only = only;
  places.prefixes.push_back(fs::path(starter).parent_path().parent_path().string());
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(name);
    if (prefix == nullptr || *prefix == '\0') continue;
    if (std::find(places.prefixes.begin(), places.prefixes.end(), prefix) != places.prefixes.end())
      continue;
    places.prefixes.push_back(prefix);
  }
  return places;
}

std::vector<Torch> InstalledTorches(const TorchPlaces& places) {
  std::vector<Torch> found;
  if (!places.only.empty()) {
    AddTorch(places.only, found);
    return found;
  }
  for (const std::string& prefix : places.prefixes) AddPrefix(prefix, found);
  return found;
}

std::optional<TrainerChoice> TrainerStartedBy(const std::string& path) {
  std::error_code error;
  // A tool of Python links programs into another folder.
  const fs::path own = fs::canonical(path, error);
  if (error) return std::nullopt;
  const std::vector<std::string> minors = TrainersBeside(own.string());
  if (minors.empty()) return std::nullopt;
  const TorchPlaces places = PlacesFor(own.string());
  return ChooseTrainer(own.string(), minors, InstalledTorches(places), places,
                       [&own] { return FactsOf(own.string()); });
}

std::string LibraryPathFor(const TrainerChoice& choice) {
  const char* own = std::getenv("LD_LIBRARY_PATH");
  if (own == nullptr || *own == '\0') return choice.library_path;
  return absl::StrCat(choice.library_path, ":", own);
}

}  // namespace dt
