// documents.h: which texts a tokenize run reads, and which of them are for validation.
//
// Tests: tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace dt::corpus {

// A run that finds more than this walked somewhere it was not meant to.
inline constexpr size_t kDocumentsMax = size_t{1} << 22;

struct Document {
  std::string path;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
  // The first so many are for training, the rest for validation; of JSON lines none or all, of
  // which a DocumentReader chooses lines.
  uint64_t train_bytes = 0;
};
struct DocumentList {
  std::vector<Document> documents;
  uint64_t skipped = 0;
};

// Files as given, folders walked in sorted order. Hidden entries and links inside folders, binary
// files (a zero byte in the first 8 KiB; not those named as JSON lines) and empty files are left
// out.
// Errors: ConfigError when an input is absent or none holds text.
absl::StatusOr<DocumentList> CollectDocuments(const std::vector<std::string>& inputs);

// The documents for validation: one of each 1 / fraction of them, drawn by their numbers alone, so
// that it says nothing of their length or text. Pure.
class ValidationDraw {
 public:
  // 0: none. REQUIRES: fraction is below 1.
  explicit ValidationDraw(double fraction) : fraction_(fraction) {}
  bool Takes(uint64_t number) const;

 private:
  double fraction_;
};

// Chooses about `fraction` of the documents for validation, by ValidationDraw; of one that is far
// longer than that share of all bytes, its end. When they are less than half of that share, or
// there are too few to draw one, the rest is cut from the end of the largest document. JSON lines
// files, whose documents are not known yet, are left alone.
void AssignValidation(double fraction, std::vector<Document>& documents);

}  // namespace dt::corpus
