// slot_environments.cc: see slot_environments.h.
#include "worker/slot_environments.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_lock.h"
#include "common/spawn.h"
#include "common/text.h"
#include "worker/environments/noted_container.h"
#include "worker/environments/tools.h"

namespace dt {
namespace {

// Returns the folder for environments. They are large and outlive a boot: not in the run folder,
// which may be in memory.
std::string DefaultEnvironments() {
  for (const auto& [name, below] : {std::pair("CACHE_DIRECTORY", "/environments"),
                                    std::pair("XDG_CACHE_HOME", "/dtrain/environments"),
                                    std::pair("HOME", "/.cache/dtrain/environments")}) {
    const char* value = std::getenv(name);
    const std::string folder = value == nullptr ? "" : value;
    if (!folder.empty()) return folder.substr(0, folder.find(':')) + below;
  }
  return absl::StrCat("/tmp/dtrain-environments-", geteuid());
}

std::string EnvironmentsFolder(const Flags& flags) {
  std::error_code code;
  return std::filesystem::absolute(
             flags.environments_folder.empty() ? DefaultEnvironments() : flags.environments_folder,
             code)
      .string();
}

// Returns the folders of this host that programs in containers may read. Leaves out the folder in
// which this worker happens to start.
std::vector<std::string> ContainerFolders(const Flags& flags) {
  std::vector<std::string> folders = flags.container_folders;
  if (flags.data_root != Flags().data_root) folders.push_back(flags.data_root);
  for (std::string& folder : folders) {
    std::error_code code;
    folder = std::filesystem::absolute(folder, code).lexically_normal();
  }
  std::erase(folders, "/");
  return folders;
}

}  // namespace

absl::Status AddEnvironments(const Flags& flags, v1::Hello& hello) {
  DT_RETURN_IF_ERROR(environments::CheckAllowed(flags.environments));
  for (auto& [kind, why] : environments::Abilities(flags.environments, EnvironmentWith({}))) {
    v1::Label& able = *hello.add_environments();
    able.set_key(std::move(kind));
    able.set_value(std::move(why));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> EnvironmentArguments(const Flags& flags) {
  const std::optional<uint64_t> size = ParseBytes(flags.environments_size);
  if (!size.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--environments-size '", flags.environments_size,
                                                   "' is not a size; write 512M or 20G"));
  }
  std::vector<std::string> arguments = {"--environments", EnvironmentsFolder(flags),
                                        "--environments-bytes", absl::StrCat(*size)};
  for (const std::string& shared : ContainerFolders(flags)) {
    arguments.insert(arguments.end(), {"--folder", shared});
  }
  for (const std::string& name : flags.program_variables) {
    arguments.insert(arguments.end(), {"--env", name});
  }
  return arguments;
}

std::string ProgramScratch(const std::string& lock) { return lock + ".program"; }

void EndLeftContainer(const Flags& flags, const std::string& lock) {
  const absl::StatusOr<UniqueFd> alone = LockFile(lock);
  if (!alone.ok()) return;
  const std::string note =
      environments::ContainerNote(EnvironmentsFolder(flags), ProgramScratch(lock));
  if (environments::EndNotedContainer(note, EnvironmentWith({}))) return;
  spdlog::warn("a container of an earlier attempt cannot be removed; its note is {}", note);
}

}  // namespace dt
