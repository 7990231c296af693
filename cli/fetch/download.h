// download.h: one file over HTTP into another, from any byte on.
//
// Role:    libcurl with bounds: time to connect, silence, redirections, size.
// Threads: any; libcurl is set up at the first call.
// Tests:   tests/cli/fetch/fetch_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace dt::cli {

enum class Download { kGoOn, kStop };

// Appends what `url` has behind the first `from` bytes to `path`, which has so many, or writes it
// anew when the server sends only wholes; what came stays there, whatever happens. `progress` gets
// the bytes that the file has.
// Errors: Unavailable when it did not come or broke off; DataLoss for more than `bytes_max`;
// Cancelled; Internal for the disk.
absl::Status DownloadFile(const std::string& url, const std::string& path, uint64_t from,
                          uint64_t bytes_max, const std::function<Download(uint64_t)>& progress);

}  // namespace dt::cli
