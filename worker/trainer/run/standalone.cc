// standalone.cc: the specification file and torchrun's environment variables.
#include "worker/trainer/run/standalone.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "common/files.h"

namespace dt::trainer {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int32_t> EnvironmentNumber(const char* name, int32_t absent, int32_t max) {
  const std::string text = Environment(name);
  if (text.empty()) return absent;
  if (text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos ||
      std::stoi(text) > max) {
    return ConfigError(std::string(name) + "=" + text + " is not a number from 0 to " +
                       std::to_string(max));
  }
  return std::stoi(text);
}

// Makes the first folder <storage>/1/<number> that does not exist and returns its number. mkdir
// succeeds for one of two runs that start at once.
absl::StatusOr<uint32_t> NewTrial(const std::string& storage) {
  DT_RETURN_IF_ERROR(MakeFolders(storage + "/1"));
  for (uint32_t number = 1; number != 0; ++number) {
    const std::string folder = storage + "/1/" + std::to_string(number);
    if (mkdir(folder.c_str(), 0777) == 0) return number;
    if (errno != EEXIST) return SystemError("make", folder);
  }
  return IoError("--storage " + storage + " has no room for another run");
}

}  // namespace

absl::StatusOr<StandaloneRun> ReadStandalone(const StandaloneOptions& options) {
  std::ifstream in(options.spec_file);
  if (!in) return ConfigError("--spec " + options.spec_file + " cannot be read");
  StandaloneRun run;
  run.start.spec = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (run.start.spec.is_discarded()) {
    return ConfigError("--spec " + options.spec_file + " is not JSON");
  }
  run.start.data_root = options.data_root;
  run.start.storage = options.storage;
  run.start.experiment = run.start.trial = run.start.attempt = 1;
  run.start.token = "standalone";
  DT_ASSIGN_OR_RETURN(run.start.world_size, EnvironmentNumber("WORLD_SIZE", 1, 16384));
  DT_ASSIGN_OR_RETURN(run.start.rank, EnvironmentNumber("RANK", 0, run.start.world_size - 1));
  DT_ASSIGN_OR_RETURN(run.start.local_rank, EnvironmentNumber("LOCAL_RANK", 0, 16384));
  // Only rank 0 writes.
  if (run.start.rank == 0) {
    DT_ASSIGN_OR_RETURN(run.start.trial, NewTrial(options.storage));
  }
  if (run.start.world_size == 1) return run;

  const std::string host = Environment("MASTER_ADDR");
  DT_ASSIGN_OR_RETURN(const int32_t port, EnvironmentNumber("MASTER_PORT", 0, 65535));
  if (host.empty() || port == 0) {
    return ConfigError(
        "WORLD_SIZE is " + std::to_string(run.start.world_size) +
        ", so MASTER_ADDR and MASTER_PORT must name the address where the ranks meet");
  }
  // torchrun's own process may serve the store, and ranks are its clients; otherwise rank 0 serves
  // it.
  const bool served = Environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (run.start.rank == 0 && !served) {
    run.start.data_address = host;
    run.options.store_port = static_cast<uint16_t>(port);
  } else {
    run.start.store_address = host + ":" + std::to_string(port);
  }
  // After a restart by torchrun the ranks meet in the same store, under other keys.
  run.start.token += "-" + Environment("TORCHELASTIC_RESTART_COUNT");
  return run;
}

void PrintedConversation::Say(const frames::FromTrainer& frame) {
  if (!written_.ok()) return;
  std::puts(frames::ToLine(frame).c_str());
  written_ = FlushStandardOutput();
  if (!written_.ok()) return;
  if (const auto* done = std::get_if<frames::CheckpointDone>(&frame)) registered_ = done->step;
}

}  // namespace dt::trainer
