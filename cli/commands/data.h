// data.h: `dtctl data tokenize` without the command line around it: progress and result as text.
//
// Role:  pure, over corpus/tokenize.h. Tests: tests/cli/commands/data_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/view/json.h"
#include "corpus/tokenize.h"

namespace dt::cli {

// "[#####-----]  50%  1.5 GiB of 3.0 GiB  60 MiB/s  25 s left  12 of 40 documents", after so long.
std::string TokenizeBar(const corpus::TokenizeProgress& progress, double seconds);
// What was written, as lines for a person.
std::string TokenizeText(const corpus::TokenizeOptions& options,
                         const corpus::TokenizeSummary& summary);
// Where shards are, as an experiment file says it: a folder below a data root.
struct ShardPlace {
  std::string root;
  std::string folder;  // "": the root itself
  bool known = false;  // the root is that of workers on this machine; else it is the folder above
};
// `output` and `roots` are absolute and without links.
ShardPlace PlaceOf(const std::string& output, const std::vector<std::string>& roots);
// The data section of an experiment file for these shards in `folder`, ready to paste.
std::string DataSection(const corpus::TokenizeOptions& options,
                        const corpus::TokenizeSummary& summary, const std::string& folder);
Json TokenizeJson(const corpus::TokenizeSummary& summary);
// The code says what to do: InvalidArgument, change the command or the texts; Internal, see to the
// machine.
absl::Status CommandStatus(const absl::Status& error);

}  // namespace dt::cli
