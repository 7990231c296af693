// fetch.h: a data set into a folder, each file whole and verified or not there.
//
// Role:      what is there already and right is kept; NAME.part holds what came before a break, and
//            the next run goes on behind it.
// Invariant: a file gets its name only after its size and hash were found to be the published ones.
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

// `progress` gets the file and how many of its bytes are there.
// Errors: those of DownloadFile, with what to place where by hand when it is Unavailable; DataLoss
// when what came is not the published file, FailedPrecondition when another file has its name.
absl::StatusOr<std::vector<Fetched>> FetchDataSet(
    const DataSet& set, const std::string& folder,
    const std::function<Download(const PublicFile&, uint64_t)>& progress);

}  // namespace dt::cli
