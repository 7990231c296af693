// device.cc: the NVIDIA driver's files in /proc, and the system's own.
#include "worker/shell/device.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

// Returns the text after "key:" in a file of such lines, or "".
std::string FieldOf(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

}  // namespace

absl::StatusOr<LocalSlot> ParseSlot(std::string_view text) {
  LocalSlot slot;
  slot.name = std::string(text);
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  bool good = kind == "cpu" || kind == "cuda";
  slot.kind = DeviceKindOf(kind);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), slot.index);
    good = good && error == std::errc() && end == digits.data() + digits.size() && slot.index >= 0;
  } else if (slot.kind == DeviceKind::kCuda) {
    good = false;
  }
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("--slot '", slot.name, "' is not a slot; use cpu, cpu:0 or cuda:0"));
  }
  return slot;
}

std::vector<Gpu> FindGpus(const std::string& root) {
  const std::string all = root + "/proc/driver/nvidia/gpus";
  // No driver: no folder. Their names are PCI addresses.
  auto names = ListFolder(all).value_or(std::vector<std::string>{});
  std::sort(names.begin(), names.end());
  std::vector<Gpu> gpus;
  for (const std::string& name : names) {
    const std::string information = absl::StrCat(all, "/", name, "/information");
    const std::string minor = FieldOf(information, "Device Minor");
    if (minor.empty()) continue;
    // A control group may forbid what the file's mode allows. The file stays open while the rest is
    // read: the driver does not know the UUID of a GPU that nobody uses.
    const UniqueFd opened(
        open(absl::StrCat(root, "/dev/nvidia", minor).c_str(), O_RDWR | O_CLOEXEC));
    if (!opened.valid()) continue;
    std::string uuid = FieldOf(information, "GPU UUID");
    if (uuid.find('?') != std::string::npos || TellableText(uuid) != uuid) uuid.clear();
    gpus.push_back(
        {static_cast<int>(gpus.size()), TellableText(FieldOf(information, "Model")), uuid});
  }
  return gpus;
}

std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, const char* visible) {
  if (visible == nullptr) return gpus;
  std::vector<Gpu> seen;
  std::vector<bool> listed(gpus.size());
  for (const absl::string_view word : absl::StrSplit(visible, ',')) {
    const std::string name(absl::StripAsciiWhitespace(word));
    if (name.size() > 4 && absl::StartsWith(name, "MIG-") && seen.empty() && !gpus.empty()) {
      // CUDA gives a process only the first of several instances.
      return {{0, "MIG instance", name}};
    }
    int index = -1;
    const bool number = absl::SimpleAtoi(name, &index);
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
      return number ? gpu.index == index
                    : name.size() > 4 && absl::StartsWithIgnoreCase(gpu.uuid, name);
    });
    if (found == gpus.end() || listed[found - gpus.begin()]) break;
    listed[found - gpus.begin()] = true;
    Gpu& added = seen.emplace_back(*found);
    added.index = static_cast<int>(seen.size()) - 1;
  }
  return seen;
}

std::string TellableText(std::string_view text) {
  // A worker's name is a host's name and a slot's, and has at most limits::kNameBytes.
  constexpr size_t kBytes = 128;
  return CleanText(Printable(text), kBytes);
}

HostFacts ReadHostFacts() {
  HostFacts facts;
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) == 0) facts.host = TellableText(name);
  if (facts.host.empty()) facts.host = "localhost";
  facts.cpu_name = TellableText(FieldOf("/proc/cpuinfo", "model name"));
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof(usable), &usable) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &usable)) facts.cores.push_back(core);
    }
  }
  if (facts.cores.empty()) facts.cores = {0};
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page_size > 0) {
    facts.memory_bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size);
  }
  return facts;
}

CpuShare ShareOfCores(const LocalSlot& slot, int slots, int threads,
                      const std::vector<int>& cores) {
  const int count = static_cast<int>(cores.size());
  CpuShare share;
  share.threads = threads > 0 ? threads : std::max(1, count / slots);
  if (slot.kind != DeviceKind::kCpu || slot.index < 0) return share;
  const int64_t first = int64_t{slot.index} * share.threads;
  if (first + share.threads > count) return share;
  share.cores.assign(cores.begin() + first, cores.begin() + first + share.threads);
  return share;
}

}  // namespace dt
