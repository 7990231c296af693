// download.h: downloads a file over HTTP, and resumes at any byte.
//
// Role:    libcurl with bounds on time to connect, silence, redirects and size.
// Threads: any; libcurl is set up at the first call.
// Tests:   tests/cli/fetch/fetch_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace dt::cli {

enum class Download { kGoOn, kStop };

// Appends the content of `url` after its first `from` bytes to `path`, which has these bytes. If
// the server sends only complete files, writes the file anew. Received bytes are kept after an
// error. `progress` gets the size so far.
// Errors: Unavailable where the download failed or broke off; DataLoss for more than `bytes_max`;
// Cancelled; Internal for the disk.
absl::Status DownloadFile(const std::string& url, const std::string& path, uint64_t from,
                          uint64_t bytes_max, const std::function<Download(uint64_t)>& progress);

}  // namespace dt::cli
