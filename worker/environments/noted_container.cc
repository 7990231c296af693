// noted_container.cc: see noted_container.h.
#include "worker/environments/noted_container.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/sha256.h"
#include "worker/environments/container.h"
#include "worker/environments/tools.h"

namespace dt::environments {
namespace {

using nlohmann::json;

constexpr uint64_t kNoteBytes = 64 << 10;
// To kill and to remove takes 0.1 s, and longer on a busy host.
constexpr absl::Duration kRemovePatience = absl::Seconds(20);

}  // namespace

std::string ContainerNote(const std::string& store, const std::string& scratch) {
  return absl::StrCat(store, "/container-", Sha256Hex(scratch).substr(0, 16), ".json");
}

absl::Status NoteContainer(const std::string& note, const std::string& runtime,
                           const std::string& name) {
  return WriteFileAtomically(note, json{{"runtime", runtime}, {"name", name}}.dump(
                                       -1, ' ', false, json::error_handler_t::replace));
}

bool EndNotedContainer(const std::string& note, const Environment& variables) {
  const absl::StatusOr<std::string> text = ReadFile(note, kNoteBytes);
  if (!text.ok()) return true;
  const json noted = json::parse(*text, nullptr, false);
  bool removed = true;
  if (noted.is_object() && noted.contains("runtime") && noted["runtime"].is_string() &&
      noted.contains("name") && noted["name"].is_string()) {
    ToolRun remove{.path = noted["runtime"], .environment = variables, .folder = "/"};
    remove.arguments = RemoveArguments(RuntimeAt(remove.path), noted["name"]);
    remove.patience = kRemovePatience;
    if (!remove.arguments.empty()) removed = Run(remove, "remove a container").ok();
  }
  if (removed) static_cast<void>(unlink(note.c_str()));
  return removed;
}

}  // namespace dt::environments
