// data_commands.cc: dtctl data tokenize | verify: makes token shards of text, and checks them, on
// this machine.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/bar.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/data.h"
#include "cli/local/cluster.h"
#include "cli/view/words.h"
#include "common/files.h"
#include "common/status.h"
#include "corpus/verify.h"

namespace dt::cli {
namespace {

// Returns the path without links, or unchanged where it does not exist.
std::string Canonical(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, code);
  return code ? std::filesystem::absolute(path, code).lexically_normal().string() : found.string();
}

// Returns the data folders of the clusters that 'dtctl up' started on this machine.
std::vector<std::string> DataRoots(const Terminal& terminal) {
  const std::string home =
      StateHome(terminal.environment("XDG_STATE_HOME"), terminal.environment("HOME"));
  std::vector<std::string> roots;
  std::error_code code;
  if (home.empty()) return roots;
  for (const std::string& name : ListFolder(home).value_or(std::vector<std::string>{})) {
    const std::filesystem::path data = std::filesystem::path(home) / name / "data";
    if (std::filesystem::is_directory(data, code)) roots.push_back(Canonical(data));
  }
  return roots;
}

absl::StatusOr<ExitCode> Tokenize(Session& session, const corpus::TokenizeOptions& options) {
  const absl::StatusOr<corpus::TokenizeSummary> summary = [&] {
    ProgressBar bar(session);
    return corpus::TokenizeFiles(options, [&](const corpus::TokenizeProgress& progress) {
      bar.Show([&](double seconds) { return TokenizeBar(progress, seconds); });
      return session.interrupt().Triggered() ? corpus::Go::kStop : corpus::Go::kOn;
    });
  }();
  if (!summary.ok()) return CommandStatus(summary.status());
  PrintDocument(session, "TokenizedData", TokenizeJson(*summary), TokenizeText(options, *summary));
  if (session.format() == Format::kTable) {
    const ShardPlace place = PlaceOf(Canonical(options.output), DataRoots(session.terminal()));
    session.Note(absl::StrCat(
        place.known
            ? std::string("Paste this into the experiment file:\n  ")
            : absl::StrCat("Paste this into the experiment file, where workers have --data-root ",
                           Printable(place.root), ":\n  "),
        DataSection(options, *summary, place.folder)));
  }
  return ExitCode::kOk;
}

Json VerdictJson(const corpus::ShardVerdict& verdict) {
  return {{"path", verdict.path},
          {"bytes", verdict.bytes},
          {"ok", verdict.wrong.empty()},
          {"wrong", verdict.wrong.empty() ? Json() : Json(verdict.wrong)}};
}

absl::StatusOr<ExitCode> Verify(Session& session, const std::vector<std::string>& folders) {
  Json items = Json::array();
  std::string text;
  size_t wrong = 0;
  for (const std::string& folder : folders) {
    const auto verdicts = corpus::VerifyShards(
        folder, [&](uint64_t, uint64_t) { return !session.interrupt().Triggered(); });
    if (absl::IsCancelled(verdicts.status())) return ExitCode::kInterrupted;
    if (!verdicts.ok()) return CommandStatus(verdicts.status());
    for (const corpus::ShardVerdict& verdict : *verdicts) {
      items.push_back(VerdictJson(verdict));
      if (verdict.wrong.empty()) continue;
      ++wrong;
      absl::StrAppend(&text, Printable(verdict.path), ": ", Printable(verdict.wrong), "\n");
    }
  }
  absl::StrAppend(
      &text, items.size() - wrong, " of ", items.size(),
      items.size() == 1 ? " shard is what was written\n" : " shards are what was written\n");
  PrintDocument(session, "VerifiedData", {{"ok", wrong == 0}, {"shards", items}}, text);
  return wrong == 0 ? ExitCode::kOk : ExitCode::kUnexpected;
}

void AddVerify(CommandTree& tree, CLI::App* group) {
  CLI::App* app = tree.Add(
      group, "verify", "Compare the bytes of shards with the sums recorded when they were made",
      "dtctl data verify data/wiki\n"
      "dtctl data verify data/wiki -o json | jq '.shards[] | select(.ok | not)'");
  auto folders = std::make_shared<std::vector<std::string>>();
  app->add_option("DIR", *folders, "Folders that 'dtctl data tokenize' filled, or copies of them")
      ->required();
  tree.SetCommand(app,
                  {[=](Session& session) { return Verify(session, *folders); }, kDocumentFormats});
}

// Adds an option that takes one of two words.
template <typename Choice>
void AddNames(CommandTree& tree, CLI::App* app, const std::string& option,
              const std::map<std::string, Choice>& names, const std::string& help, Choice* chosen) {
  std::vector<std::string> words;
  words.reserve(names.size());
  for (const auto& [name, unused] : names) words.push_back(name);
  CLI::Option* added = app->add_option_function<std::string>(
      option, [chosen, names](const std::string& name) { *chosen = names.at(name); }, help);
  tree.SetWords(added, std::move(words));
  added->option_text("NAME")->check([names](const std::string& name) -> std::string {
    if (names.contains(name)) return {};
    return absl::StrCat("'", Printable(name), "' is unknown; use ", names.begin()->first, " or ",
                        names.rbegin()->first);
  });
}

void AddTokenizer(CommandTree& tree, CLI::App* app, corpus::TokenizeOptions& options) {
  options.threads = UsableCores();
  AddNames<corpus::Tokenizer>(
      tree, app, "--tokenizer",
      {{"byte", corpus::Tokenizer::kByte}, {"gpt2", corpus::Tokenizer::kGpt2}},
      "byte (unless given): ids 0 to 255 are the bytes, 256 comes before each document; "
      "gpt2: GPT-2's byte-level BPE, 50,257 ids, which needs --vocab",
      &options.tokenizer);
  AddNames<corpus::ShardFormat>(
      tree, app, "--format",
      {{"bin", corpus::ShardFormat::kLlmc}, {"npy", corpus::ShardFormat::kNpy}},
      "bin (unless given): shards as llm.c has them; npy: as NumPy has them, uint16",
      &options.format);
  app->add_option("--vocab", options.vocabulary,
                  "GPT-2's vocab.bpe (elsewhere called merges.txt), for --tokenizer gpt2")
      ->option_text("FILE");
  app->add_option("--text-field", options.text_field,
                  "The field of a JSON line that has the text; text unless given")
      ->option_text("NAME");
  app->add_option("--threads", options.threads,
                  "Threads that encode; every core unless given; the shards are the same")
      ->option_text("N");
}

}  // namespace

void AddDataCommands(CommandTree& tree) {
  CLI::App* group = tree.AddGroup("data", "Prepare training data",
                                  "dtctl data fetch wikitext-2 --output texts/wikitext-2\n"
                                  "dtctl data tokenize --output data/wiki texts/wikitext-2");
  AddFetchCommand(tree, group);
  AddVerify(tree, group);
  CLI::App* app = tree.Add(
      group, "tokenize", "Turn text into token shards, one document a file or a line of JSON",
      "dtctl data tokenize --output data/notes ~/notes\n"
      "dtctl data tokenize --output data/wiki --tokenizer gpt2 --vocab vocab.bpe "
      "--val valid.txt train.txt\n"
      "dtctl data tokenize --output data/big --shard-tokens 500000000 --val-first-shard "
      "texts/");
  auto options = std::make_shared<corpus::TokenizeOptions>();
  app->add_option(
         "PATH", options->inputs,
         "Text files, JSON lines (.jsonl, .json-lines) or folders of them; hidden and binary "
         "files are left out")
      ->required();
  app->add_option("--output", options->output,
                  "The folder for train_000000.bin, val_000000.bin and so on")
      ->option_text("DIR")
      ->required();
  AddTokenizer(tree, app, *options);
  auto shard_tokens = std::make_shared<int64_t>(static_cast<int64_t>(options->shard_tokens));
  app->add_option(
         "--shard-tokens", *shard_tokens,
         absl::StrCat("Tokens of a shard; ", FormatCount(options->shard_tokens), " unless given"))
      ->option_text("N");
  CLI::Option* fraction =
      app->add_option(
             "--val-fraction", options->validation_fraction,
             "The share of the documents kept for validation, drawn by their numbers; 0.05 "
             "unless given; 0: none")
          ->option_text("F");
  auto first_shard = std::make_shared<bool>(false);
  CLI::Option* first = app->add_flag("--val-first-shard", *first_shard,
                                     "The first shard is for validation, as with llm.c")
                           ->excludes(fraction);
  app->add_option("--val", options->validation_inputs,
                  "A text file or folder for validation; may be repeated")
      ->option_text("PATH")
      ->allow_extra_args(false)
      ->excludes(fraction)
      ->excludes(first);
  auto overwrite = std::make_shared<bool>(false);
  app->add_flag("--overwrite", *overwrite, "Replace the shards that the folder has");
  tree.SetCommand(app, {[=](Session& session) -> absl::StatusOr<ExitCode> {
                          corpus::TokenizeOptions chosen = *options;
                          DT_RETURN_IF_ERROR(CheckAtLeast("--shard-tokens", *shard_tokens, 1));
                          chosen.shard_tokens = static_cast<uint64_t>(*shard_tokens);
                          if (*first_shard) chosen.validation = corpus::Validation::kFirstShard;
                          if (!chosen.validation_inputs.empty()) {
                            chosen.validation = corpus::Validation::kFiles;
                          }
                          if (*overwrite) chosen.existing = corpus::Existing::kReplace;
                          return Tokenize(session, chosen);
                        },
                        kDocumentFormats});
}

}  // namespace dt::cli
