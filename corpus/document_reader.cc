// document_reader.cc: see document_reader.h.
#include "corpus/document_reader.h"

#include <algorithm>
#include <utility>

#include "corpus/json_lines.h"

namespace dt::corpus {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
// A text that cannot be cut is held in full, and its ids take four times as much again.
constexpr size_t kUncutBytes = 256 << 20;

}  // namespace

absl::StatusOr<std::optional<ReadPiece>> DocumentReader::Next() {
  for (; place_.document < documents_.size(); ++place_.document) {
    const Document& document = documents_[place_.document];
    if (place_.offset < document.bytes) {
      if (!file_) {
        DT_ASSIGN_OR_RETURN(file_, InputFile::Open(document.path));
      }
      if (!IsJsonLines(document.path)) {
        DT_ASSIGN_OR_RETURN(ReadPiece read, NextText(document));
        return std::optional(std::move(read));
      }
      DT_ASSIGN_OR_RETURN(std::optional<ReadPiece> read, NextLine(document));
      if (read) return read;
    }
    file_.reset();
    buffer_.clear();
    used_ = 0;
    place_.offset = 0;
    place_.line = 0;
  }
  return std::optional<ReadPiece>();
}

// A document that is cut in two begins again in its second part.
absl::StatusOr<ReadPiece> DocumentReader::NextText(const Document& document) {
  const bool training = place_.offset < document.train_bytes;
  const uint64_t end = training ? document.train_bytes : document.bytes;
  std::string text;
  size_t cut = 0;
  while (cut == 0) {
    const size_t known = text.size();
    const uint64_t from = place_.offset + known;
    text.resize(known + std::min<uint64_t>(kPieceBytes, end - from));
    DT_RETURN_IF_ERROR(file_->ReadAt(from, text.data() + known, text.size() - known));
    cut = place_.offset + text.size() == end ? text.size() : encoder_.Cut(text, known);
    if (cut == 0 && text.size() >= kUncutBytes) {
      return DataError("'" + document.path + "' has " + std::to_string(kUncutBytes >> 20) +
                       " MiB without a space or a line's end from byte " +
                       std::to_string(place_.offset) +
                       " on, which is the limit; break it into lines");
    }
  }
  text.resize(cut);
  ReadPiece read;
  read.piece.starts = place_.offset == 0 || place_.offset == document.train_bytes;
  read.piece.training = training;
  read.piece.text = std::move(text);
  read.document = place_.document;
  read.bytes = cut;
  place_.offset += cut;
  read.piece.ends = place_.offset == document.bytes;
  read.after = place_;
  return read;
}

absl::StatusOr<std::optional<ReadPiece>> DocumentReader::NextLine(const Document& document) {
  const uint64_t before = place_.offset;
  while (place_.offset < document.bytes) {
    DT_ASSIGN_OR_RETURN(const size_t bytes, FindLine(document));
    ReadPiece read;
    read.piece.text = buffer_.substr(used_, bytes);
    read.piece.form = TextEncoder::Form::kJsonLine;
    read.piece.starts = true;
    read.piece.ends = true;
    read.document = place_.document;
    read.line = ++place_.line;
    const uint64_t after = std::min(place_.offset + bytes + 1, document.bytes);
    used_ += after - place_.offset;
    place_.offset = after;
    read.bytes = after - before;  // blank lines too
    if (read.piece.text.find_first_not_of(" \t\r") == std::string::npos) continue;
    read.piece.training = ChooseForTraining(document);
    read.after = place_;
    return std::optional(std::move(read));
  }
  return std::optional<ReadPiece>();
}

absl::StatusOr<size_t> DocumentReader::FindLine(const Document& document) {
  for (size_t known = used_;;) {
    const size_t end = buffer_.find('\n', known);
    const size_t bytes = std::min(end, buffer_.size()) - used_;
    if (bytes > kJsonLineBytesMax) {
      return DataError(document.path + ":" + std::to_string(place_.line + 1) + ": longer than " +
                       std::to_string(kJsonLineBytesMax >> 20) +
                       " MiB; a JSON lines file has one document a line");
    }
    if (end != std::string::npos) return bytes;
    const uint64_t from = place_.offset + bytes;
    if (from == document.bytes) return bytes;  // the last line has no line end
    buffer_.erase(0, used_);
    used_ = 0;
    known = buffer_.size();
    buffer_.resize(known + std::min<uint64_t>(kPieceBytes, document.bytes - from));
    DT_RETURN_IF_ERROR(file_->ReadAt(from, buffer_.data() + known, buffer_.size() - known));
  }
}

bool DocumentReader::ChooseForTraining(const Document& document) {
  return document.train_bytes > 0 && !draw_.Takes(place_.drawn++);
}

}  // namespace dt::corpus
