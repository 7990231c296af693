// documents.h: finds the texts of a tokenize run, and chooses those for validation.
//
// Tests: tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace dt::corpus {

// A run that finds more than this walked into a wrong place.
inline constexpr size_t kDocumentsMax = size_t{1} << 22;

struct Document {
  std::string path;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
  // The first bytes are for training, the rest for validation. For JSON lines it is 0 or all; a
  // DocumentReader then chooses lines.
  uint64_t train_bytes = 0;
};
struct DocumentList {
  std::vector<Document> documents;
  uint64_t skipped = 0;
};

// Collects files as given, and folders walked in sorted order. Skips hidden entries and links
// inside folders, binary files (a zero byte in the first 8 KiB, unless named as JSON lines) and
// empty files. Errors: ConfigError when an input is absent or none holds text.
absl::StatusOr<DocumentList> CollectDocuments(const std::vector<std::string>& inputs);

// Draws the documents for validation: one of each 1 / fraction of them, by their numbers alone, so
// independent of their length and text. Pure.
class ValidationDraw {
 public:
  // 0: draws none. REQUIRES: fraction is below 1.
  explicit ValidationDraw(double fraction) : fraction_(fraction) {}
  bool Takes(uint64_t number) const;

 private:
  double fraction_;
};

// Chooses about `fraction` of the documents for validation, by ValidationDraw; of a document far
// longer than that share of all bytes, only its end. If the result is less than half of that share,
// or there are too few documents to draw one, the rest is cut from the end of the largest document.
// JSON lines files are left alone, since their documents are not known yet.
void AssignValidation(double fraction, std::vector<Document>& documents);

}  // namespace dt::corpus
