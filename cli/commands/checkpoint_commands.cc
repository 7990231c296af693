// checkpoint_commands.cc: dtctl checkpoint export: trained weights for other programs.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checkpoint/hf_export.h"
#include "checkpoint/manifest.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/data.h"
#include "cli/remote/follow.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct ExportOptions {
  std::string source;  // a checkpoint's folder, its path in the storage, or a trial
  std::string output;
  std::string format = "hf";
  std::string storage;
};

// Returns the trial's best checkpoint by search.metric, else its newest. Errors: NotFound if it has
// no checkpoint.
absl::StatusOr<v1::CheckpointSummary> BestOf(Session& session, const std::string& trial) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseTrial(trial));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto found,
                      client->GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  DT_ASSIGN_OR_RETURN(const auto best,
                      FindBestCheckpoint(*client, found.summary().experiment(), selector.trial));
  if (best.has_value()) return *best;
  return absl::NotFoundError(absl::StrCat("trial ", Printable(trial),
                                          " has no checkpoint yet; 'dtctl get checkpoints' lists "
                                          "what there is"));
}

bool HasCheckpoint(const std::filesystem::path& folder) {
  std::error_code code;
  return std::filesystem::is_regular_file(folder / checkpoint::kManifestName, code);
}

absl::Status NoCheckpoint(const ExportOptions& options) {
  const std::string source = Printable(options.source);
  if (!options.storage.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", source, "' is neither a trial nor a checkpoint under --storage ",
                     Printable(options.storage), " or here; name a trial, such as 12/3, or what ",
                     "'dtctl get checkpoints' prints, such as 12/3/a1/step-500"));
  }
  std::error_code code;
  if (std::filesystem::is_directory(options.source, code)) {
    return absl::InvalidArgumentError(
        absl::StrCat("folder '", source, "' has no ", checkpoint::kManifestName,
                     ", so it is not a checkpoint; name the folder of one, such as ",
                     "STORAGE/12/3/a1/step-500, or a trial with --storage DIR"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", source, "' is not a checkpoint's folder and not a trial; give a folder, such ",
      "as STORAGE/12/3/a1/step-500, or with --storage DIR a trial, such as 12/3, or a ",
      "checkpoint as 'dtctl get checkpoints' prints it, such as 12/3/a1/step-500"));
}

// Returns the options of the export. A trial's name may also be that of its folder in the storage:
// with --storage it means the trial.
absl::StatusOr<checkpoint::HfExportOptions> Chosen(Session& session, const ExportOptions& options) {
  checkpoint::HfExportOptions chosen;
  chosen.output = options.output;
  chosen.stop = [&session] { return session.interrupt().Triggered(); };
  const bool trial = ParseSelector(options.source).ok();
  if (options.storage.empty() || !trial) {
    const std::filesystem::path stored =
        std::filesystem::path(options.storage) / std::filesystem::path(options.source);
    if (!options.storage.empty() && HasCheckpoint(stored)) {
      chosen.checkpoint = stored;
    } else if (HasCheckpoint(options.source)) {
      chosen.checkpoint = options.source;
    } else if (trial) {
      return absl::InvalidArgumentError(
          "for a trial, give --storage DIR, the workers' storage folder as this machine sees it; "
          "or name a checkpoint's folder");
    } else {
      return NoCheckpoint(options);
    }
    return chosen;
  }
  DT_ASSIGN_OR_RETURN(const v1::CheckpointSummary best, BestOf(session, options.source));
  chosen.checkpoint = absl::StrCat(options.storage, "/", best.checkpoint().path());
  chosen.manifest_hash = best.checkpoint().manifest_hash();
  if (!HasCheckpoint(chosen.checkpoint)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no checkpoint '", Printable(chosen.checkpoint),
                     "'; let --storage name the storage folder of ",
                     best.seen_by().empty() ? "the worker that wrote it"
                                            : Printable(absl::StrJoin(best.seen_by(), ", ")),
                     " as this machine sees it"));
  }
  return chosen;
}

absl::StatusOr<ExitCode> Export(Session& session, const ExportOptions& options) {
  if (options.format != "hf") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format is '", Printable(options.format), "'; it must be hf"));
  }
  DT_ASSIGN_OR_RETURN(const checkpoint::HfExportOptions chosen, Chosen(session, options));
  const absl::StatusOr<checkpoint::HfExport> done = checkpoint::ExportHuggingFace(chosen);
  if (!done.ok()) return CommandStatus(done.status());
  session.out() << Printable(options.output) << "  " << FormatCount(done->parameters)
                << " parameters of step " << done->step;
  if (done->loss) session.out() << ", validation loss " << FormatLoss(*done->loss);
  session.out() << ", " << FormatBytes(static_cast<double>(done->bytes)) << "\n" << std::flush;
  session.Note("In Python: transformers.GPT2LMHeadModel.from_pretrained(\"" +
               Printable(options.output) + "\")");
  return ExitCode::kOk;
}

}  // namespace

void AddCheckpointCommands(CommandTree& tree) {
  CLI::App* group =
      tree.AddGroup("checkpoint", "Use trained weights elsewhere",
                    "dtctl checkpoint export --storage checkpoints 12/3 -o gpt2-mine");
  CLI::App* app = tree.Add(
      group, "export", "A checkpoint's weights as a folder for another library",
      "dtctl checkpoint export checkpoints/12/3/a1/step-500 -o gpt2-mine\n"
      "dtctl checkpoint export last/1 --storage checkpoints -o gpt2-mine   # its best one\n"
      "dtctl checkpoint export 12/3/a1/step-500 --storage checkpoints -o gpt2-mine   # as printed");
  auto options = std::make_shared<ExportOptions>();
  app->add_option("CHECKPOINT", options->source,
                  "A checkpoint's folder; or with --storage a checkpoint as printed, such as "
                  "12/3/a1/step-500, or a trial such as 12/3: its best, else its newest")
      ->required();
  app->add_option("-o,--output", options->output, "The folder to make; it must not be there yet")
      ->option_text("DIR")
      ->required();
  tree.SetWords(
      app->add_option(
             "--format", options->format,
             "hf (unless given): model.safetensors and config.json of Hugging Face's GPT-2")
          ->option_text("KIND"),
      {"hf"});
  app->add_option("--storage", options->storage,
                  "The workers' storage folder, as this machine sees it")
      ->option_text("DIR");
  tree.SetCommand(app, {[options](Session& session) { return Export(session, *options); }, {}});
}

}  // namespace dt::cli
