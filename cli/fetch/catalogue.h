// catalogue.h: the public data sets of `dtctl data fetch`, with addresses and checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dt::cli {

enum class Fingerprinted {
  kBytes,        // sha256 is of the file
  kSortedLines,  // sha256 is of the sorted lines: copies differ in the order of their articles
};

struct PublicFile {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
  Fingerprinted fingerprinted = Fingerprinted::kBytes;
};

struct DataSet {
  std::string name;
  std::string about;  // origin and licence
  std::string base;   // a file's address is BASE/NAME
  std::vector<PublicFile> files;
};

const std::vector<DataSet>& Catalogue();
// Returns the data set with its addresses at a mirror: MIRROR/DATASET/NAME.
DataSet AtMirror(DataSet set, const std::string& mirror);

}  // namespace dt::cli
