// fetch.h: downloads a data set into a folder. Each file there is complete and verified.
//
// Role:      keeps correct files that exist. NAME.part has the bytes before an interruption, and
//            the next run continues after them.
// Invariant: a file gets its name only after its size and hash match the published ones.
// Tests:     tests/cli/fetch/fetch_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/fetch/catalogue.h"
#include "cli/fetch/download.h"

namespace dt::cli {

struct Fetched {
  enum class How { kDownloaded, kWasThere };
  PublicFile file;
  std::string path;
  How how = How::kDownloaded;
};

// Fetches the files. `progress` gets a file and the bytes of it so far.
// Errors: those of DownloadFile, if Unavailable with instructions to place the files by hand;
// DataLoss where the download is not the published file; FailedPrecondition where another file has
// its name.
absl::StatusOr<std::vector<Fetched>> FetchDataSet(
    const DataSet& set, const std::string& folder,
    const std::function<Download(const PublicFile&, uint64_t)>& progress);

}  // namespace dt::cli
