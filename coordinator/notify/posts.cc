#include "coordinator/notify/posts.h"

#include <curl/curl.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ca_bundle.h"
#include "common/notice_limits.h"

namespace dt {
namespace {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, ListDeleter>;

void Append(Headers& headers, const std::string& line) {
  curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
  if (longer == nullptr) return;
  headers.release();  // NOLINT: it is the head of `longer`, or was nothing
  headers.reset(longer);
}

// Counts the bytes of an answer and drops them. Cuts off a transfer with too many.
size_t DropData(char*, size_t one, size_t count, void* user) {
  auto& bytes = *static_cast<size_t*>(user);
  bytes += one * count;
  return bytes > limits::kNotifyAnswerBytes ? CURL_WRITEFUNC_ERROR : one * count;
}
// A header callback cuts off by returning 0.
size_t DropHead(char* data, size_t one, size_t count, void* user) {
  return DropData(data, one, count, user) == CURL_WRITEFUNC_ERROR ? 0 : one * count;
}

constexpr long kHttpOk = 200;         // NOLINT: libcurl's type
constexpr long kHttpRedirects = 300;  // NOLINT
constexpr long kHttpRefuses = 400;    // NOLINT
constexpr long kHttpTimeout = 408;    // NOLINT
constexpr long kHttpTooEarly = 425;   // NOLINT
constexpr long kHttpTooMany = 429;    // NOLINT
constexpr long kHttpFails = 500;      // NOLINT

// Decides by the status alone. After the status, the rest may be cut off or too slow.
Reception ReceptionOf(long status) {  // NOLINT
  if (status >= kHttpOk && status < kHttpRedirects) return Reception::kTaken;
  const bool later = status < kHttpOk || status >= kHttpFails || status == kHttpTimeout ||
                     status == kHttpTooEarly || status == kHttpTooMany;
  return later ? Reception::kUnavailable : Reception::kRefused;
}

std::string WhyOf(long status, CURLcode code) {  // NOLINT
  if (status < kHttpOk) return curl_easy_strerror(code);
  return absl::StrCat("HTTP ", status,
                      status >= kHttpRedirects && status < kHttpRefuses
                          ? ", a redirection, which is not followed"
                          : "");
}

}  // namespace

struct Posts::Transfer {
  std::string url;
  std::string body;
  Headers headers;
  size_t answer_bytes = 0;
  std::unique_ptr<CURL, EasyDeleter> easy;
};

struct Posts::Impl {
  std::unique_ptr<CURLM, MultiDeleter> multi;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers;
  std::vector<Ended> ended;  // posts that could not begin
};

absl::StatusOr<std::unique_ptr<Posts>> Posts::Make(const std::string& ca) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto impl = std::make_unique<Impl>();
  if (kReady == CURLE_OK) impl->multi.reset(curl_multi_init());
  if (impl->multi == nullptr) return absl::InternalError("libcurl does not start");
  return std::unique_ptr<Posts>(new Posts(ca, std::move(impl)));
}

Posts::Posts(std::string ca, std::unique_ptr<Impl> impl)
    : ca_(ca.empty() ? FindCaBundle() : std::move(ca)), impl_(std::move(impl)) {}

Posts::~Posts() {
  for (auto& [easy, transfer] : impl_->transfers) {
    curl_multi_remove_handle(impl_->multi.get(), easy);
  }
}

void Posts::Begin(const std::string& url, const std::string& id, const std::string& signature,
                  std::string body) {
  auto transfer = std::make_unique<Transfer>();
  transfer->url = url;
  transfer->body = std::move(body);
  transfer->easy.reset(curl_easy_init());
  CURL* const c = transfer->easy.get();
  if (c == nullptr) return impl_->ended.push_back({url, Reception::kUnavailable, "no memory"});
  Append(transfer->headers, "Content-Type: application/json");
  Append(transfer->headers, absl::StrCat("Dtrain-Notice-Id: ", id));
  if (!signature.empty()) {
    Append(transfer->headers, absl::StrCat("Dtrain-Signature: ", signature));
  }
  Append(transfer->headers, "Expect:");  // the body is small; sending it needs no permission first
  curl_easy_setopt(c, CURLOPT_URL, transfer->url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);  // a redirection could lead to a host that is
                                                    // not allowed
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // NOLINT
  curl_easy_setopt(c, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // NOLINT
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!ca_.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, ca_.c_str());
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  // A running name lookup does not delay the end of the program.
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(limits::kNotifyTimeout)));  // NOLINT
  curl_easy_setopt(c, CURLOPT_USERAGENT, "dtcoord");
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, transfer->headers.get());
  curl_easy_setopt(c, CURLOPT_POST, 1L);
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, transfer->body.data());
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer->body.size()));
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, DropHead);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &transfer->answer_bytes);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, DropData);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &transfer->answer_bytes);
  if (curl_multi_add_handle(impl_->multi.get(), c) != CURLM_OK) {
    return impl_->ended.push_back({url, Reception::kUnavailable, "libcurl refuses the request"});
  }
  impl_->transfers[c] = std::move(transfer);
}

std::vector<Posts::Ended> Posts::Wait(absl::Duration patience) {
  std::vector<Ended> ended = std::exchange(impl_->ended, {});
  CURLM* const multi = impl_->multi.get();
  int running = 0;
  if (ended.empty()) {
    const auto most = std::clamp(patience, absl::ZeroDuration(), absl::Minutes(1));
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(most)), nullptr);
  }
  curl_multi_perform(multi, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto found = impl_->transfers.find(easy);
    long status = 0;  // NOLINT
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    ended.push_back({found->second->url, ReceptionOf(status), WhyOf(status, code)});
    curl_multi_remove_handle(multi, easy);
    impl_->transfers.erase(found);
  }
  return ended;
}

void Posts::Wake() { curl_multi_wakeup(impl_->multi.get()); }

}  // namespace dt
