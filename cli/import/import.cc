// import.cc: recognises the tool of a file.
#include "cli/import/import.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/import/draft.h"
#include "common/text.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

std::optional<Tool> ToolOf(const YamlNode& root) {
  if (TextOf(Find(root, "kind")) == "Experiment" &&
      TextOf(Find(root, "apiVersion")).find("kubeflow") != std::string::npos) {
    return Tool::kKatib;
  }
  if (FindPath(root, "hydra.sweeper") != nullptr) return Tool::kHydra;
  if (Find(root, "hyperparameters") != nullptr || Find(root, "searcher") != nullptr) {
    return Tool::kDetermined;
  }
  if (Find(root, "param_space") != nullptr || Find(root, "tune_config") != nullptr) {
    return Tool::kRay;
  }
  if (Find(root, "parameters") != nullptr && Find(root, "method") != nullptr) return Tool::kWandb;
  if (root.entries.empty()) return std::nullopt;
  // A map of experiments.
  const YamlNode& first = root.entries[0].value;
  const bool ray = Find(first, "run") != nullptr || Find(first, "config") != nullptr;
  if (ray || (Find(root, "config") != nullptr && Find(root, "num_samples") != nullptr)) {
    return Tool::kRay;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Imported> Import(std::string_view text, std::string_view file_name) {
  const std::string file = Printable(CleanText(file_name, 200));
  const spec::YamlTree tree = spec::ParseYaml(text);
  if (!tree.readable || tree.root.kind != Kind::kMap) {
    const std::string why =
        tree.problems.empty()
            ? "it is no map"
            : absl::StrCat("line ", tree.problems[0].mark.line, ": ", tree.problems[0].message);
    return absl::InvalidArgumentError(
        absl::StrCat(file, " cannot be read: ", why, "; give a YAML file of one experiment"));
  }
  const std::optional<Tool> tool = ToolOf(tree.root);
  if (!tool) {
    return absl::InvalidArgumentError(absl::StrCat(
        file,
        " is of no tool that is known here: W&B sweeps have method and parameters, Determined's "
        "files searcher or hyperparameters, Katib's kind: Experiment, Ray's param_space or a map "
        "of experiments, Hydra's hydra.sweeper; docs/guides/coming-from.md has the words"));
  }
  Draft draft(*tool, file_name);
  switch (*tool) {
    case Tool::kWandb:
      ImportWandb(tree.root, draft);
      break;
    case Tool::kDetermined:
      ImportDetermined(tree.root, draft);
      break;
    case Tool::kRay:
      ImportRay(tree.root, draft);
      break;
    case Tool::kHydra:
      ImportHydra(tree.root, draft);
      break;
    case Tool::kKatib:
      ImportKatib(tree.root, draft);
      break;
  }
  return draft.Finish();
}

}  // namespace dt::cli
