// document_reader.h: reads the documents of a run as a stream of pieces, from any place in it.
//
// Role:      cuts texts by the MiB where encoding allows it, and JSON lines files by the line;
//            marks each piece as training or validation. Holds the text of one piece, at most 256
//            MiB.
// Ownership: borrows the documents and the encoder.
// Invariant: the pieces are a function of documents, options and files alone; a reader that starts
//            at a piece's `after` gives those that came after it.
// Errors:    DataError for a file that changed or a line that is too long, IoError.
// Tests:     tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/files.h"
#include "common/status.h"
#include "corpus/documents.h"
#include "corpus/text_encoder.h"

namespace dt::corpus {

// A position between two pieces.
struct ReadPosition {
  uint64_t document = 0;
  uint64_t offset = 0;  // in bytes
  uint64_t line = 0;    // in lines, for JSON lines
  uint64_t drawn = 0;   // lines so far, over all JSON lines files that may be for training
};

struct ReadPiece {
  TextEncoder::Piece piece;
  uint64_t document = 0;
  uint64_t line = 0;   // line number from 1, for JSON lines
  uint64_t bytes = 0;  // of the file
  ReadPosition after;
};

class DocumentReader {
 public:
  // For JSON lines files that may be for training, `line_fraction` of the lines go to validation.
  DocumentReader(std::span<const Document> documents, double line_fraction,
                 const TextEncoder& encoder, const ReadPosition& from)
      : documents_(documents), draw_(line_fraction), encoder_(encoder), place_(from) {}

  // Returns the next piece, or nothing at the end.
  absl::StatusOr<std::optional<ReadPiece>> Next();

 private:
  absl::StatusOr<ReadPiece> NextText(const Document& document);
  // Returns nothing if only blank lines are left.
  absl::StatusOr<std::optional<ReadPiece>> NextLine(const Document& document);
  // Makes buffer_ begin with the line at place_; returns the line's bytes without its end.
  absl::StatusOr<size_t> FindLine(const Document& document);
  bool ChooseForTraining(const Document& document);

  const std::span<const Document> documents_;
  const ValidationDraw draw_;
  const TextEncoder& encoder_;
  ReadPosition place_;
  std::optional<InputFile> file_;  // of place_.document
  std::string buffer_;             // for JSON lines: bytes read
  size_t used_ = 0;                // bytes of buffer_ before place_.offset
};

}  // namespace dt::corpus
