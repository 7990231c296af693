// data.h: texts of `dtctl data tokenize`: progress and result.
//
// Role:  pure, over corpus/tokenize.h. Tests: tests/cli/commands/data_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/view/json.h"
#include "corpus/tokenize.h"

namespace dt::cli {

// Returns "[#####-----]  50%  1.5 GiB of 3.0 GiB  60 MiB/s  25 s left  12 of 40 documents" after
// `seconds`.
std::string TokenizeBar(const corpus::TokenizeProgress& progress, double seconds);
// Returns lines on the written files, for a person.
std::string TokenizeText(const corpus::TokenizeOptions& options,
                         const corpus::TokenizeSummary& summary);
// Location of shards as in an experiment file: a folder below a data root.
struct ShardPlace {
  std::string root;
  std::string folder;  // "": the root itself
  bool known = false;  // the root is that of workers of this machine; else it is the parent folder
};
// Returns the location. `output` and `roots` are absolute, without links.
ShardPlace PlaceOf(const std::string& output, const std::vector<std::string>& roots);
// Returns the data section of an experiment file for these shards in `folder`, ready to paste.
std::string DataSection(const corpus::TokenizeOptions& options,
                        const corpus::TokenizeSummary& summary, const std::string& folder);
Json TokenizeJson(const corpus::TokenizeSummary& summary);
// Returns the error with a code that shows the remedy: InvalidArgument: change the command or the
// texts; Internal: check the machine.
absl::Status CommandStatus(const absl::Status& error);

}  // namespace dt::cli
