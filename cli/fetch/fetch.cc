// fetch.cc: see fetch.h.
#include "cli/fetch/fetch.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/sha256.h"

namespace dt::cli {
namespace {

std::string HashOf(const std::string& content, Fingerprinted fingerprinted) {
  if (fingerprinted == Fingerprinted::kBytes) return Sha256Hex(content);
  std::vector<std::string_view> lines;
  for (size_t start = 0; start <= content.size();) {
    const size_t end = std::min(content.find('\n', start), content.size());
    lines.push_back(std::string_view(content).substr(start, end - start));
    start = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  Sha256 hash;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) hash.Update(std::string_view("\n"));
    hash.Update(lines[i]);
  }
  return hash.FinishHex();
}

// Returns "" if the file is the published one, else what is wrong with it.
std::string Difference(const std::string& path, const PublicFile& file) {
  const absl::StatusOr<std::string> content = ReadFile(path, file.bytes);
  if (!content.ok()) return std::string(content.status().message());
  if (content->size() != file.bytes) {
    return absl::StrCat("it has ", content->size(), " bytes, not ", file.bytes);
  }
  const std::string hash = HashOf(*content, file.fingerprinted);
  if (hash == file.sha256) return "";
  return absl::StrCat("its sha256",
                      file.fingerprinted == Fingerprinted::kBytes ? "" : " of sorted lines", " is ",
                      hash, ", not ", file.sha256);
}

uint64_t SizeOf(const std::string& path) {
  std::error_code code;
  const uintmax_t bytes = std::filesystem::file_size(path, code);
  return code ? 0 : static_cast<uint64_t>(bytes);
}

void Forget(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

// Returns instructions for a user without a network.
std::string ByHand(const DataSet& set, const std::string& folder) {
  std::string text =
      "; try again, it goes on where it stopped. Without a network, get on another "
      "machine";
  for (const PublicFile& file : set.files) {
    absl::StrAppend(&text, "\n  ", set.base, "/", file.name);
  }
  return absl::StrCat(text, "\nand place them in ", folder, "; the same command then checks them");
}

absl::Status FetchFile(const DataSet& set, const PublicFile& file, const std::string& path,
                       const std::function<Download(const PublicFile&, uint64_t)>& progress) {
  const std::string url = set.base + "/" + file.name;
  const std::string part = path + ".part";
  uint64_t from = SizeOf(part);
  if (from > file.bytes) from = 0;
  if (from < file.bytes) {
    absl::Status got = DownloadFile(url, part, from, file.bytes,
                                    [&](uint64_t bytes) { return progress(file, bytes); });
    if (!got.ok()) {
      if (SizeOf(part) == 0) Forget(part);
      return got;
    }
  }
  if (const std::string wrong = Difference(part, file); !wrong.empty()) {
    Forget(part);
    return absl::DataLossError(absl::StrCat(
        "what came from ", url, " is not the published file: ", wrong, "; it was removed"));
  }
  if (const absl::Status renamed = Rename(part, path); !renamed.ok()) {
    return absl::InternalError(renamed.message());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Fetched>> FetchDataSet(
    const DataSet& set, const std::string& folder,
    const std::function<Download(const PublicFile&, uint64_t)>& progress) {
  if (const absl::Status made = MakeFolders(folder); !made.ok()) {
    return absl::InvalidArgumentError(made.message());
  }
  std::vector<Fetched> fetched;
  for (const PublicFile& file : set.files) {
    const std::string path = folder + "/" + file.name;
    std::error_code code;
    if (std::filesystem::exists(path, code)) {
      if (const std::string wrong = Difference(path, file); !wrong.empty()) {
        return absl::FailedPreconditionError(
            absl::StrCat("'", path, "' is not ", set.name, "'s ", file.name, ": ", wrong,
                         "; move it away or choose another folder"));
      }
      fetched.push_back({file, path, Fetched::How::kWasThere});
      continue;
    }
    const absl::Status got = FetchFile(set, file, path, progress);
    if (absl::IsUnavailable(got)) {
      return absl::UnavailableError(absl::StrCat(got.message(), ByHand(set, folder)));
    }
    if (!got.ok()) return got;
    fetched.push_back({file, path, Fetched::How::kDownloaded});
  }
  if (const absl::Status synced = SyncFolder(folder); !synced.ok()) {
    return absl::InternalError(synced.message());
  }
  return fetched;
}

}  // namespace dt::cli
