#include "cli/commands/data_note.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/local/cluster.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "corpus/glob.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

// Field that names data, with the suffix of its files.
struct DataField {
  const char* path;
  const char* suffix;
};
constexpr DataField kDataFields[] = {
    {"data.train", ""}, {"data.val", ""}, {"model.init_from", "/model.safetensors"}};

// Returns every value of the field among trials. Empty values name no files.
std::vector<std::string> ValuesOf(const v1::ExperimentSpec& spec, const char* path) {
  std::vector<std::string> values = {spec::FieldText(spec.base(), path)};
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (parameter.path() != path) continue;
    values.clear();
    for (const v1::Value& value : parameter.values()) values.push_back(value.text());
  }
  std::erase(values, "");
  return values;
}

}  // namespace

std::string OwnClusterFolder(const Session& session) {
  const absl::StatusOr<ClientOptions>& client = session.shared().client;
  if (!client.ok() || client->context.empty()) return "";
  const Terminal& terminal = session.terminal();
  std::string folder =
      absl::StrCat(StateHome(terminal.environment("XDG_STATE_HOME"), terminal.environment("HOME")),
                   "/", client->context);
  std::error_code code;
  return std::filesystem::is_directory(folder, code) ? folder : "";
}

std::string MissingDataNote(const Session& session, const v1::ExperimentSpec& spec) {
  const std::string cluster = OwnClusterFolder(session);
  const std::string root = cluster + "/data";
  std::error_code code;
  if (cluster.empty() || spec::IsProgram(spec) || !std::filesystem::is_directory(root, code)) {
    return "";
  }
  for (const DataField& field : kDataFields) {
    for (const std::string& value : ValuesOf(spec, field.path)) {
      const auto files = corpus::ResolveGlob(root, field.path, value + field.suffix);
      if (files.status().code() != kDataError) continue;
      return absl::StrCat("Note: ", Printable(std::string(files.status().message())),
                          "; put it there before its trials start.");
    }
  }
  return "";
}

}  // namespace dt::cli
