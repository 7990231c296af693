#include "cli/local/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "cli/local/run_files.h"
#include "cli/remote/contexts.h"
#include "cli/view/words.h"
#include "common/files.h"
#include "common/host_files.h"
#include "common/limits.h"
#include "common/net/listen.h"
#include "common/secret_file.h"
#include "common/status.h"
#include "nlohmann/json.hpp"

namespace dt::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCoordinator[] = "dtcoord";
constexpr char kAddressesName[] = "addresses.json";
constexpr char kLastAddressesName[] = "last-addresses.json";
constexpr char kWorkerToken[] = "/worker.token";
constexpr char kRunFolderFile[] = "/run-folder";
constexpr uint64_t kPathBytes = 4096;
constexpr char kAnyAddress[] = "127.0.0.1:0";
// Attempts to find a port: a free port may be taken before the coordinator binds it.
constexpr int kStartsMost = 3;
constexpr uint64_t kAddressesBytes = 4096;
constexpr absl::Duration kLook = absl::Milliseconds(50);
// Default number of CPU slots at most: enough for a gang. More would only share the cores.
constexpr int kUsualSlots = 2;

// Returns nothing where there is no such file, or it is incomplete.
std::optional<ClusterAddresses> ReadAddresses(const std::string& folder,
                                              const char* name = kAddressesName) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(folder, "/", name), kAddressesBytes);
  if (!text.ok()) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("grpc") || !json["grpc"].is_string()) return std::nullopt;
  const auto http = json.find("http");
  return ClusterAddresses{json["grpc"], http != json.end() && http->is_string()
                                            ? http->get<std::string>()
                                            : std::string()};
}

// Returns whether a program could listen on the address now.
bool IsFree(const std::string& address) { return Listen("", address).ok(); }

std::string FirstFree(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (!address.empty() && IsFree(address)) return address;
  }
  return kAnyAddress;
}

std::string Loopback(int port) { return absl::StrCat("127.0.0.1:", port); }

std::vector<std::string> WorkersOf(std::vector<std::string> names) {
  std::erase(names, kCoordinator);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);  // cpu:2 before cpu:10
  });
  return names;
}

std::vector<std::string> CpuWorkers(int64_t slots) {
  std::vector<std::string> workers;
  for (int64_t i = 0; i < slots; ++i) workers.push_back(absl::StrCat("cpu:", i));
  return workers;
}

absl::StatusOr<std::vector<std::string>> Asked(const ClusterOptions& options) {
  if (options.cpu_slots.has_value() && !options.gpus.empty()) {
    return absl::InvalidArgumentError("--slots and --gpus cannot be given together; keep one");
  }
  if (options.cpu_slots.has_value()) {
    if (*options.cpu_slots < 1 || *options.cpu_slots > limits::kUpSlots) {
      return absl::InvalidArgumentError(absl::StrCat("--slots is ", *options.cpu_slots,
                                                     "; it must be from 1 to ", limits::kUpSlots));
    }
    return CpuWorkers(*options.cpu_slots);
  }
  if (options.gpus.empty() || options.gpus == "all") {
    return std::vector<std::string>{"gpus"};
  }
  const bool numbers = std::all_of(options.gpus.begin(), options.gpus.end(),
                                   [](char c) { return (c >= '0' && c <= '9') || c == ','; });
  if (numbers) return std::vector<std::string>{"gpus:" + options.gpus};
  return absl::InvalidArgumentError(absl::StrCat("--gpus is '", Printable(options.gpus),
                                                 "'; write all, or their numbers such as 0,1"));
}

}  // namespace

bool IsLocalCluster(const std::string& state_home, const std::string& name,
                    const std::string& address) {
  if (state_home.empty() || name.empty()) return false;
  const std::optional<ClusterAddresses> runs = ReadAddresses(absl::StrCat(state_home, "/", name));
  return runs.has_value() && runs->grpc == address;
}

std::string StateHome(const std::string& xdg_state_home, const std::string& home) {
  if (!xdg_state_home.empty()) return xdg_state_home + "/dtrain";
  return home.empty() ? "" : home + "/.local/state/dtrain";
}

bool HasGpus(const std::string& root) {
  std::error_code code;
  const fs::directory_iterator gpus(root + "/proc/driver/nvidia/gpus", code);
  return !code && gpus != fs::directory_iterator();
}

absl::StatusOr<std::vector<std::string>> WantedWorkers(const ClusterOptions& options,
                                                       const std::vector<std::string>& known,
                                                       bool running) {
  const bool asks = options.cpu_slots.has_value() || !options.gpus.empty();
  if (!asks && !known.empty()) return known;
  if (!asks && !options.has_gpus) {
    return CpuWorkers(std::clamp(options.cores, 1, kUsualSlots));
  }
  DT_ASSIGN_OR_RETURN(std::vector<std::string> asked, Asked(options));
  if (!asked.empty() && absl::StartsWith(asked.front(), "gpus") && !options.has_gpus) {
    return absl::FailedPreconditionError(
        "--gpus: the NVIDIA driver shows no GPU on this machine; use --slots N for CPU slots");
  }
  if (running && !known.empty() && asked != known) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", options.name, "' is up with ", ShapeText(known), "; end it with 'dtctl down --name ",
        options.name, "' first, or start another one with --name"));
  }
  return asked;
}

std::string ShapeText(const std::vector<std::string>& workers) {
  if (workers.empty()) return "no workers";
  if (workers.front() == "gpus") return "all GPUs";
  if (absl::StartsWith(workers.front(), "gpus:")) {
    return absl::StrCat("GPUs ", workers.front().substr(5));
  }
  return Plural(workers.size(), "CPU slot");
}

LocalCluster::LocalCluster(ClusterOptions options, std::string folder, KeptProcesses processes)
    : options_(std::move(options)), folder_(std::move(folder)), processes_(std::move(processes)) {}

absl::StatusOr<LocalCluster> LocalCluster::Open(const ClusterOptions& options,
                                                const KeptProcesses::Pause& pause) {
  DT_RETURN_IF_ERROR(CheckContextName(options.name));
  if (options.state_home.empty()) {
    return absl::InvalidArgumentError(
        "there is no place for the journal: neither XDG_STATE_HOME nor HOME is set");
  }
  const std::string folder =
      fs::absolute(options.state_home + "/" + options.name).lexically_normal().string();
  DT_RETURN_IF_ERROR(MakeFolders(folder));
  DT_ASSIGN_OR_RETURN(KeptProcesses processes, KeptProcesses::Open(folder, pause));
  return LocalCluster(options, folder, std::move(processes));
}

absl::Status LocalCluster::PrepareFolders() const {
  for (const char* part : {"/coordinator", "/storage", "/logs"}) {
    DT_RETURN_IF_ERROR(MakeFolders(folder_ + part));
  }
  std::error_code code;
  if (options_.data_root.empty()) {
    return fs::exists(data(), code) ? absl::OkStatus() : MakeFolders(data());
  }
  const std::string root = fs::absolute(options_.data_root).lexically_normal().string();
  if (!fs::is_directory(root, code)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data-root '", Printable(root), "' is not a folder; make it, or name one"));
  }
  if (fs::exists(data(), code)) {
    if (fs::equivalent(data(), root, code)) return absl::OkStatus();
    // Replaces an empty folder of ours. Anything else belongs to the user.
    if (!fs::remove(data(), code)) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(data()), " is there already; leave out --data-root, or move it away"));
    }
  }
  fs::create_directory_symlink(root, data(), code);
  if (!code) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot link ", data(), ": ", code.message()));
}

// Returns the folder of its workers' locks and code. A cluster of an older version wrote none down.
std::string LocalCluster::RunFolder() const {
  return ReadFile(folder_ + kRunFolderFile, kPathBytes).value_or(DefaultRunFolder());
}

// Returns whether tokens are required. Once requested this stays: data behind tokens must not be
// open after a restart.
bool LocalCluster::HasTokens() const {
  std::error_code code;
  return options_.auth || fs::exists(folder_ + "/coordinator/access.db", code);
}

std::string LocalCluster::token_file() const {
  return HasTokens() ? folder_ + "/coordinator/admin.token" : "";
}

absl::Status LocalCluster::EnsureWorkerToken() const {
  std::error_code code;
  if (fs::exists(folder_ + kWorkerToken, code)) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const std::string token,
                      options_.worker_token(addresses_.grpc, token_file()));
  return WriteSecret(folder_ + kWorkerToken, token + "\n");
}

// Keeps the addresses, so that open pages, bookmarks and waiting clients find the coordinator
// again.
ClusterAddresses LocalCluster::PreferredAddresses() const {
  const ClusterAddresses before =
      ReadAddresses(folder_, kLastAddressesName).value_or(ClusterAddresses());
  ClusterAddresses preferred;
  preferred.grpc = FirstFree({before.grpc, Loopback(options_.grpc_port)});
  preferred.http = FirstFree({before.http, Loopback(options_.http_port)});
  // Workers that are still running know no other address.
  for (const std::string& worker : workers_) {
    const std::string known = processes_.Note(worker);
    if (!known.empty() && processes_.IsAlive(worker)) preferred.grpc = known;
  }
  return preferred;
}

absl::Status LocalCluster::StartCoordinator(const KeptProcesses::Pause& pause) {
  const std::string file = absl::StrCat(folder_, "/", kAddressesName);
  std::error_code code;
  // Kept for this start and later ones; there may be none.
  fs::rename(file, absl::StrCat(folder_, "/", kLastAddressesName), code);
  const ClusterAddresses before =
      ReadAddresses(folder_, kLastAddressesName).value_or(ClusterAddresses());
  for (int start = 1;; ++start) {
    const ClusterAddresses wanted = PreferredAddresses();
    DT_RETURN_IF_ERROR(
        processes_.Start({kCoordinator,
                          {options_.programs + "/dtcoord", "--listen", wanted.grpc, "--http",
                           wanted.http, "--state-dir", folder_ + "/coordinator", "--auth",
                           HasTokens() ? "tokens" : "none", "--addresses-file", file},
                          {}}));
    const absl::Status status = AwaitAddresses(pause);
    const bool taken =
        absl::IsUnavailable(status) && (!IsFree(wanted.grpc) || !IsFree(wanted.http));
    if (taken && start < kStartsMost) continue;
    DT_RETURN_IF_ERROR(status);
    started_.push_back(kCoordinator);
    NoteMoves(before);
    return absl::OkStatus();
  }
}

// Blocks until the coordinator answers. Errors: Unavailable if it has ended.
absl::Status LocalCluster::AwaitAddresses(const KeptProcesses::Pause& pause) {
  const absl::Time deadline = absl::Now() + limits::kUpPatience;
  while (!ReadAddresses(folder_).has_value()) {
    if (!processes_.IsAlive(kCoordinator)) {
      return absl::UnavailableError(
          absl::StrCat("dtcoord ended at once", processes_.LogTail(kCoordinator)));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("dtcoord does not answer after ",
                                                      absl::FormatDuration(limits::kUpPatience),
                                                      processes_.LogTail(kCoordinator)));
    }
    if (!pause(kLook)) return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

void LocalCluster::NoteMoves(const ClusterAddresses& before) {
  const ClusterAddresses now = ReadAddresses(folder_).value_or(ClusterAddresses());
  const auto note = [this](const char* what, const std::string& was, const std::string& is) {
    if (was.empty() || was == is) return;
    moved_.push_back(absl::StrCat("the ", what, " is at ", Printable(is),
                                  " now: another program has ", Printable(was),
                                  ", where it was before"));
  };
  note("page", before.http.empty() ? "" : absl::StrCat("http://", before.http, "/"),
       absl::StrCat("http://", now.http, "/"));
  note("coordinator", before.grpc, now.grpc);
}

KeptCommand LocalCluster::WorkerCommand(const std::string& worker) const {
  KeptCommand command;
  command.name = worker;
  command.arguments = {options_.programs + "/dtworker", "--coordinator", addresses_.grpc};
  command.note = addresses_.grpc;
  std::vector<std::string>& words = command.arguments;
  if (absl::StartsWith(worker, "gpus")) {
    words.push_back("--all");
    if (worker.size() > 5) command.env["CUDA_VISIBLE_DEVICES"] = worker.substr(5);
  } else {
    const std::string name = absl::StrCat(options_.name, "/", worker);
    words.insert(words.end(),
                 {"--slot", worker, "--slots", absl::StrCat(workers_.size()), "--name", name});
  }
  words.insert(words.end(), {"--data-root", data(), "--storage", folder_ + "/storage", "--run-dir",
                             RunFolder()});
  if (HasTokens()) words.insert(words.end(), {"--token-file", folder_ + kWorkerToken});
  return command;
}

absl::Status LocalCluster::Up(const KeptProcesses::Pause& pause) {
  const std::vector<std::string> names = processes_.Names();
  const bool running = std::any_of(names.begin(), names.end(),
                                   [this](const auto& one) { return processes_.IsAlive(one); });
  DT_ASSIGN_OR_RETURN(workers_, WantedWorkers(options_, WorkersOf(names), running));
  if (!running) DT_RETURN_IF_ERROR(processes_.Forget());
  DT_RETURN_IF_ERROR(PrepareFolders());
  std::error_code code;
  // Kept while it is up and for a purge, since a later dtctl may have other variables.
  if (!running || !fs::exists(folder_ + kRunFolderFile, code)) {
    DT_RETURN_IF_ERROR(WriteFileAtomically(folder_ + kRunFolderFile, DefaultRunFolder()));
  }
  if (running && options_.auth && !fs::exists(folder_ + "/coordinator/access.db", code)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", options_.name, "' is up without tokens; end it with 'dtctl down --name ",
                     options_.name, "' first, then start it with --auth"));
  }
  if (!processes_.IsAlive(kCoordinator) || !ReadAddresses(folder_).has_value()) {
    DT_RETURN_IF_ERROR(processes_.End({kCoordinator}, limits::kDownPatience, pause));
    DT_RETURN_IF_ERROR(StartCoordinator(pause));
  }
  addresses_ = *ReadAddresses(folder_);
  if (HasTokens()) DT_RETURN_IF_ERROR(EnsureWorkerToken());
  for (const std::string& worker : workers_) {
    // A worker with another coordinator's address would never find this one. A list of version
    // 0.1.0 has no address.
    const std::string known = processes_.Note(worker);
    const bool elsewhere = !known.empty() && known != addresses_.grpc;
    if (processes_.IsAlive(worker) && !elsewhere) continue;
    DT_RETURN_IF_ERROR(processes_.End({worker}, limits::kDownPatience, pause));
    DT_RETURN_IF_ERROR(processes_.Start(WorkerCommand(worker)));
    started_.push_back(worker);
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::CheckWorkers() const {
  for (const std::string& worker : workers_) {
    if (processes_.IsAlive(worker)) continue;
    return absl::UnavailableError(
        absl::StrCat("worker ", worker, " ended at once", processes_.LogTail(worker)));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> LocalCluster::Down(const KeptProcesses::Pause& pause) {
  if (const auto addresses = ReadAddresses(folder_); addresses.has_value()) {
    addresses_ = *addresses;
  }
  const std::vector<std::string> names = processes_.Names();
  const auto alive = std::count_if(names.begin(), names.end(),
                                   [this](const auto& one) { return processes_.IsAlive(one); });
  // Workers end first: they report their last checkpoints to the coordinator.
  DT_RETURN_IF_ERROR(processes_.End(WorkersOf(names), limits::kDownPatience, pause));
  DT_RETURN_IF_ERROR(processes_.End({kCoordinator}, limits::kDownPatience, pause));
  std::error_code code;
  // Keeps the addresses for the next coordinator. There are none if it was not up.
  fs::rename(absl::StrCat(folder_, "/", kAddressesName),
             absl::StrCat(folder_, "/", kLastAddressesName), code);
  DT_RETURN_IF_ERROR(processes_.Forget());
  return static_cast<size_t>(alive);
}

absl::Status LocalCluster::Purge() {
  DT_RETURN_IF_ERROR(RemoveRunFiles(RunFolder(), StorageIdIn(folder_ + "/storage"),
                                    DigestsIn(folder_ + "/coordinator")));
  for (const char* part : {"/coordinator", "/storage", "/logs", "/processes",
                           "/last-addresses.json", kRunFolderFile, kWorkerToken}) {
    DT_RETURN_IF_ERROR(RemoveAll(folder_ + part));
  }
  std::error_code code;
  // Not recursive: a folder with content, and the target of a link, stay.
  fs::remove(data(), code);
  fs::remove(folder_ + "/lock", code);
  fs::remove(folder_, code);
  return absl::OkStatus();
}

}  // namespace dt::cli
