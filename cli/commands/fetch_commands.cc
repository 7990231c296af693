// fetch_commands.cc: dtctl data fetch: downloads public data sets.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/bar.h"
#include "cli/commands/command_tree.h"
#include "cli/fetch/fetch.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

const DataSet* Find(const std::string& name) {
  for (const DataSet& set : Catalogue()) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

std::string Names() {
  return absl::StrJoin(Catalogue(), " or ", [](std::string* text, const DataSet& set) {
    absl::StrAppend(text, set.name);
  });
}

void Report(Session& session, const DataSet& set, const std::vector<Fetched>& files) {
  std::string text;
  Json json = {{"name", set.name}, {"about", set.about}, {"files", Json::array()}};
  for (const Fetched& one : files) {
    absl::StrAppend(&text, Printable(one.path), "  ",
                    FormatBytes(static_cast<double>(one.file.bytes)),
                    one.how == Fetched::How::kWasThere ? ", was there\n" : "\n");
    json["files"].push_back(
        {{"path", one.path},
         {"bytes", one.file.bytes},
         {one.file.fingerprinted == Fingerprinted::kBytes ? "sha256" : "sorted_lines_sha256",
          one.file.sha256},
         {"downloaded", one.how == Fetched::How::kDownloaded}});
  }
  PrintDocument(session, "FetchedData", json, text);
  if (session.format() == Format::kTable) session.Note(set.about);
}

absl::StatusOr<ExitCode> Fetch(Session& session, const std::string& name,
                               const std::string& folder) {
  DataSet set = *Find(name);
  if (const std::string mirror = session.terminal().environment("DTCTL_DATA_MIRROR");
      !mirror.empty()) {
    if (!absl::StartsWith(mirror, "http://") && !absl::StartsWith(mirror, "https://")) {
      return absl::InvalidArgumentError(absl::StrCat("DTCTL_DATA_MIRROR is '", Printable(mirror),
                                                     "'; it must begin with http:// or https://"));
    }
    set = AtMirror(std::move(set), mirror);
  }
  const absl::StatusOr<std::vector<Fetched>> files = [&] {
    std::optional<ProgressBar> bar;
    std::string shown;  // the file of the bar
    uint64_t before = 0;
    return FetchDataSet(set, folder, [&](const PublicFile& file, uint64_t bytes) {
      if (shown != file.name) {
        shown = file.name;
        before = bytes;
        bar.emplace(session);
      }
      bar->Show([&](double seconds) {
        return absl::StrCat(file.name, " ",
                            BytesBar(static_cast<double>(bytes), static_cast<double>(file.bytes),
                                     static_cast<double>(before), seconds));
      });
      return session.interrupt().Triggered() ? Download::kStop : Download::kGoOn;
    });
  }();
  if (!files.ok()) return files.status();
  Report(session, set, *files);
  return ExitCode::kOk;
}

}  // namespace

void AddFetchCommand(CommandTree& tree, CLI::App* data) {
  CLI::App* app = tree.Add(data, "fetch", "Download a public data set and check it",
                           "dtctl data fetch wikitext-2 --output texts/wikitext-2\n"
                           "dtctl data fetch gpt2-vocab --output vocab/gpt2");
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  std::vector<std::string> known;
  for (const DataSet& set : Catalogue()) known.push_back(set.name);
  tree.SetWords(app->add_option("NAME", *name, absl::StrCat("What to get: ", Names()))
                    ->required()
                    ->check([](const std::string& wanted) -> std::string {
                      if (Find(wanted) != nullptr) return {};
                      return absl::StrCat("'", Printable(wanted), "' is unknown; use ", Names());
                    }),
                std::move(known));
  app->add_option("--output", *folder, "The folder for its files")->option_text("DIR")->required();
  tree.SetCommand(
      app, {[=](Session& session) { return Fetch(session, *name, *folder); }, kDocumentFormats});
}

}  // namespace dt::cli
