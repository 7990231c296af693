// data.cc: see data.h.
#include "cli/commands/data.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "cli/commands/bar.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

std::string Split(uint64_t tokens, const std::vector<std::string>& files) {
  if (files.empty()) return "none";
  const std::string& first = files.front();
  return absl::StrCat(FormatCount(tokens), " tokens in ", Plural(files.size(), "file"), ", ",
                      Printable(first.substr(0, first.rfind('_'))), "_*",
                      first.substr(first.rfind('.')));
}

}  // namespace

std::string TokenizeBar(const corpus::TokenizeProgress& progress, double seconds) {
  const std::string bar =
      BytesBar(static_cast<double>(progress.bytes_done), static_cast<double>(progress.bytes),
               static_cast<double>(progress.bytes_resumed), seconds);
  if (progress.documents == 0) {
    return absl::StrCat(bar, "  ", Plural(progress.documents_done, "document"));
  }
  return absl::StrCat(bar, "  ", FormatCount(progress.documents_done), " of ",
                      Plural(progress.documents, "document"));
}

std::string TokenizeText(const corpus::TokenizeOptions& options,
                         const corpus::TokenizeSummary& summary) {
  std::string text = absl::StrCat("documents   ", FormatCount(summary.documents), ", ",
                                  FormatBytes(static_cast<double>(summary.bytes)));
  if (summary.skipped > 0) {
    absl::StrAppend(&text, "; ", Plural(summary.skipped, "binary or empty document"), " skipped");
  }
  if (summary.bytes_resumed > 0) {
    absl::StrAppend(&text, "; ", FormatBytes(static_cast<double>(summary.bytes_resumed)),
                    " of it by an interrupted run");
  }
  absl::StrAppend(&text, "\ntrain       ", Split(summary.train_tokens, summary.train_files),
                  "\nvalidation  ", Split(summary.val_tokens, summary.val_files), "\nvocabulary  ",
                  summary.vocabulary, "\nfolder      ", Printable(options.output), "\n");
  return text;
}

ShardPlace PlaceOf(const std::string& output, const std::vector<std::string>& roots) {
  const std::filesystem::path path(output);
  for (const std::string& root : roots) {
    const std::string below = path.lexically_relative(root).string();
    if (below.empty() || below.substr(0, 2) == "..") continue;
    return {root, below == "." ? "" : below, true};
  }
  return {path.parent_path().string(), path.filename().string(), false};
}

std::string DataSection(const corpus::TokenizeOptions& options,
                        const corpus::TokenizeSummary& summary, const std::string& folder) {
  const std::string ending = options.format == corpus::ShardFormat::kNpy ? "npy" : "bin";
  const auto pattern = [&](const char* split) {
    const std::string at = folder.empty() ? "" : absl::StrCat(folder, "/");
    return absl::StrCat(split, ": ",
                        Json(absl::StrCat(at, split, "_*.", ending))
                            .dump(-1, ' ', false, Json::error_handler_t::replace),
                        ", ");
  };
  return absl::StrCat(
      "data: {", pattern("train"), summary.val_files.empty() ? "" : pattern("val"),
      "tokenizer: ", options.tokenizer == corpus::Tokenizer::kGpt2 ? "gpt2" : "byte", "}");
}

Json TokenizeJson(const corpus::TokenizeSummary& summary) {
  return {{"documents", summary.documents},
          {"skipped", summary.skipped},
          {"bytes", summary.bytes},
          {"bytes_resumed", summary.bytes_resumed},
          {"train_tokens", summary.train_tokens},
          {"val_tokens", summary.val_tokens},
          {"train_files", summary.train_files},
          {"val_files", summary.val_files},
          {"vocabulary", summary.vocabulary}};
}

absl::Status CommandStatus(const absl::Status& error) {
  switch (error.code()) {
    case kConfigError:
    case kDataError:
    case kDamagedError:
      return absl::InvalidArgumentError(error.message());
    case kCancelledError:
      return absl::CancelledError(error.message());
    default:  // codes of the system and the trainer
      return absl::InternalError(error.message());
  }
}

}  // namespace dt::cli
