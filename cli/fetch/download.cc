// download.cc: see download.h.
#include "cli/fetch/download.h"

#include <curl/curl.h>

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ca_bundle.h"
#include "common/files.h"

namespace dt::cli {
namespace {

// A host that does not answer within this time is not reachable.
constexpr long kConnectSeconds = 20;  // NOLINT: libcurl's type
// Less than a byte a second for this long means a broken connection.
constexpr long kSilenceSeconds = 30;  // NOLINT
// Storage services redirect once or twice, so this is plenty.
constexpr long kRedirectsMax = 5;  // NOLINT

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

struct Transfer {
  OutputFile* file = nullptr;
  uint64_t bytes_max = 0;
  const std::function<Download(uint64_t)>* progress = nullptr;
  absl::Status disk;
  bool too_long = false;
};

size_t AppendData(char* data, size_t one, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = one * count;
  if (bytes > transfer.bytes_max - transfer.file->bytes()) {
    transfer.too_long = true;
    return CURL_WRITEFUNC_ERROR;
  }
  if (absl::Status written = transfer.file->Append(data, bytes); !written.ok()) {
    transfer.disk = std::move(written);
    return CURL_WRITEFUNC_ERROR;
  }
  return bytes;
}

int ReportProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(user);
  return (*transfer.progress)(transfer.file->bytes()) == Download::kStop ? 1 : 0;
}

// Returns libcurl's own error message if it has one, else that of the code.
struct TransferResult {
  CURLcode code = CURLE_OK;
  std::string message;
};

TransferResult Perform(const std::string& url, uint64_t from, Transfer& transfer) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  const Easy easy(kReady == CURLE_OK ? curl_easy_init() : nullptr);
  if (easy == nullptr) return {CURLE_FAILED_INIT, "libcurl does not start"};
  std::array<char, CURL_ERROR_SIZE> words{};
  // Plain HTTP is only for a mirror that the user named. HTTPS never redirects to it.
  const char* protocols = url.starts_with("https://") ? "https" : "http,https";
  CURL* const c = easy.get();
  static const std::string ca = FindCaBundle();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, kSilenceSeconds);
  if (!ca.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, ca.c_str());
  curl_easy_setopt(c, CURLOPT_USERAGENT, "dtctl");
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, words.data());
  curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(from));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, AppendData);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, ReportProgress);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(c);
  return {code, words[0] != '\0' ? words.data() : curl_easy_strerror(code)};
}

absl::Status Disk(const absl::Status& error) { return absl::InternalError(error.message()); }

}  // namespace

absl::Status DownloadFile(const std::string& url, const std::string& path, uint64_t from,
                          uint64_t bytes_max, const std::function<Download(uint64_t)>& progress) {
  absl::StatusOr<OutputFile> file =
      from > 0 ? OutputFile::Reopen(path, from) : OutputFile::Create(path);
  if (!file.ok()) return Disk(file.status());
  Transfer transfer{.file = &*file, .bytes_max = bytes_max, .progress = &progress};
  const TransferResult result = Perform(url, from, transfer);
  if (absl::Status closed = file->SyncAndClose(); !closed.ok()) return Disk(closed);
  if (!transfer.disk.ok()) return Disk(transfer.disk);
  if (transfer.too_long) {
    return absl::DataLossError(absl::StrCat("more than ", bytes_max, " bytes came from ", url));
  }
  switch (result.code) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_ABORTED_BY_CALLBACK:
      return absl::CancelledError("stopped; the same command goes on from here");
    case CURLE_RANGE_ERROR:  // the server sends only complete files
      if (from > 0) return DownloadFile(url, path, 0, bytes_max, progress);
      break;
    default:  // every other failure
      break;
  }
  return absl::UnavailableError(absl::StrCat("cannot get ", url, ": ", result.message));
}

}  // namespace dt::cli
