// bpe.cc: the vocabulary's tables, the encoding of a piece, and the cache of words.
#include "corpus/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "common/files.h"
#include "corpus/unicode.h"

namespace dt::corpus {
namespace {

constexpr size_t kBytes = 256;
// Ids are 16 bits wide, and end-of-text takes one.
constexpr size_t kMergesMax = (size_t{1} << 16) - kBytes - 1;
constexpr uint16_t kUnknown = 0xFFFF;
constexpr size_t kWordPairs = size_t{1} << 16;  // 4 MiB
constexpr int kWordShift = 64 - std::countr_zero(kWordPairs);
constexpr size_t kWordBytes = 15;

// vocab.bpe writes each byte as a printable character: bytes that are printable in Latin-1 as
// themselves, the others as U+0100 and up, in order. Ids follow the same order.
bool PrintsAsItself(uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct ByteOrder {
  std::array<unsigned char, kBytes> byte_of_id{};
  std::array<uint16_t, 512> byte_of_point{};  // kUnknown if the character stands for no byte
};

ByteOrder MakeByteOrder() {
  ByteOrder order;
  order.byte_of_point.fill(kUnknown);
  size_t id = 0;
  for (uint32_t byte = 0; byte < kBytes; ++byte) {
    if (!PrintsAsItself(byte)) continue;
    order.byte_of_id[id++] = static_cast<unsigned char>(byte);
    order.byte_of_point[byte] = static_cast<uint16_t>(byte);
  }
  uint32_t point = 256;
  for (uint32_t byte = 0; byte < kBytes; ++byte) {
    if (PrintsAsItself(byte)) continue;
    order.byte_of_id[id++] = static_cast<unsigned char>(byte);
    order.byte_of_point[point++] = static_cast<uint16_t>(byte);
  }
  return order;
}

// Returns the bytes that printable text stands for, or "" for other text.
std::string FromPrintable(const ByteOrder& order, std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    uint32_t point = first;
    size_t length = 1;
    if (first >= 0xC2 && first < 0xC8 && i + 1 < text.size()) {  // up to U+01FF
      point = (first & 0x1Fu) << 6 | (static_cast<unsigned char>(text[i + 1]) & 0x3Fu);
      length = 2;
    } else if (first >= 0x80) {
      return "";
    }
    if (order.byte_of_point[point] == kUnknown) return "";
    bytes.push_back(static_cast<char>(order.byte_of_point[point]));
    i += length;
  }
  return bytes;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Skips characters of this kind.
const unsigned char* SkipRun(const CharClass* classes, CharClass kind, const unsigned char* at,
                             const unsigned char* end) {
  while (at < end) {
    if (*at < 0x80) {
      if (classes[*at] != kind) break;
      ++at;
      continue;
    }
    const Char next = ReadChar(classes, at, end);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

// Returns the bytes of 's 't 'm 'd 're 've 'll, or 0.
size_t Contraction(const unsigned char* at, const unsigned char* end) {
  if (end - at < 2) return 0;
  switch (at[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return end - at > 2 && at[2] == 'e' ? 3 : 0;
    case 'l':
      return end - at > 2 && at[2] == 'l' ? 3 : 0;
    default:  // values of a character
      return 0;
  }
}

// Returns the end of the first piece, with the regular expression's alternatives in their order:
// contractions; letters, numbers or other characters, each after an optional space; white space up
// to the last before a word; white space.
const unsigned char* PieceEnd(const CharClass* classes, const unsigned char* at,
                              const unsigned char* end) {
  if (*at == '\'') {
    if (const size_t bytes = Contraction(at, end); bytes > 0) return at + bytes;
  }
  const unsigned char* word = at;
  if (*at == ' ' && at + 1 < end) ++word;
  const Char first = ReadChar(classes, word, end);
  if (first.kind != CharClass::kSpace) {
    return SkipRun(classes, first.kind, word + first.bytes, end);
  }
  const unsigned char* last = at;  // the last character of the run
  for (const unsigned char* next = at; next < end;) {
    const Char space = ReadChar(classes, next, end);
    if (space.kind != CharClass::kSpace) return last > at ? last : next;
    last = next;
    next += space.bytes;
  }
  return end;
}

struct WordMask {
  uint64_t low;
  uint64_t high;
};
constexpr std::array<WordMask, kWordBytes + 1> MakeMasks() {
  std::array<WordMask, kWordBytes + 1> masks{};
  for (size_t bytes = 0; bytes <= kWordBytes; ++bytes) {
    const auto ones = [](size_t n) { return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1; };
    masks[bytes] = {ones(bytes), bytes > 8 ? ones(bytes - 8) : 0};
  }
  return masks;
}
constexpr std::array<WordMask, kWordBytes + 1> kMasks = MakeMasks();
static_assert(std::endian::native == std::endian::little, "words are loaded as integers");

}  // namespace

void BpeVocabulary::Table::Reserve(size_t entries) {
  const size_t slots = std::bit_ceil(entries * 2);
  slots_.assign(slots, {});
  shift_ = 64 - std::countr_zero(slots);
  const size_t bits = slots * 8;
  present_.assign(bits / 64 + 1, 0);
  present_shift_ = 64 - std::countr_zero(bits);
}

void BpeVocabulary::Table::Insert(uint32_t key, uint32_t value) {
  const uint64_t mixed = Mixed(key);
  size_t at = mixed >> shift_;
  while (slots_[at].key != kNone) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {key, value};
  const uint64_t bit = mixed >> present_shift_;
  present_[bit / 64] |= uint64_t{1} << (bit % 64);
}

uint32_t BpeVocabulary::Table::Find(uint32_t key) const {
  const uint64_t mixed = Mixed(key);
  const uint64_t bit = mixed >> present_shift_;
  if ((present_[bit / 64] >> (bit % 64) & 1) == 0) return kNone;
  for (size_t at = mixed >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].key == key) return slots_[at].value;
    if (slots_[at].key == kNone) return kNone;
  }
}

absl::StatusOr<BpeVocabulary> BpeVocabulary::Open(const std::string& path) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.bytes() > kVocabularyFileBytes) {
    return DataError("'" + path + "' has " + std::to_string(file.bytes()) +
                     " bytes, so it is not a vocab.bpe; GPT-2's has 456318");
  }
  std::string text(file.bytes(), '\0');
  DT_RETURN_IF_ERROR(file.ReadAt(0, text.data(), text.size()));
  return Parse(text, path);
}

absl::StatusOr<BpeVocabulary> BpeVocabulary::Parse(std::string_view text, const std::string& name) {
  const auto refuse = [&name](size_t line, const std::string& what) {
    return DataError(name + ":" + std::to_string(line) + ": " + what +
                     "; use the vocab.bpe of GPT-2's release");
  };
  std::vector<std::string_view> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  if (lines.empty() || !lines[0].starts_with("#version")) {
    return refuse(1, "the first line is not #version");
  }
  if (lines.size() < 2 || lines.size() - 1 > kMergesMax) {
    return refuse(lines.size(), std::to_string(lines.size() - 1) + " merges; 1 to " +
                                    std::to_string(kMergesMax) + " are possible");
  }
  const ByteOrder order = MakeByteOrder();
  BpeVocabulary made;
  made.pairs_.Reserve(lines.size());
  std::unordered_map<std::string, uint32_t> ids;
  for (const unsigned char byte : order.byte_of_id) {
    const auto id = static_cast<uint32_t>(ids.size());
    const std::string token(1, static_cast<char>(byte));
    made.AddToken(token, id, id);
    ids.emplace(token, id);
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t space = lines[i].find(' ');
    const std::string left = FromPrintable(order, lines[i].substr(0, space));
    const std::string right =
        space == std::string_view::npos ? "" : FromPrintable(order, lines[i].substr(space + 1));
    if (left.empty() || right.empty()) return refuse(i + 1, "not two tokens");
    const auto a = ids.find(left);
    const auto b = ids.find(right);
    if (a == ids.end() || b == ids.end()) {
      return refuse(i + 1, "merges a token that no line before makes");
    }
    const auto id = static_cast<uint32_t>(ids.size());
    made.AddToken(left + right, a->second, b->second);
    made.pairs_.Insert(a->second << 16 | b->second, id);
    if (!ids.emplace(left + right, id).second) return refuse(i + 1, "makes a token a second time");
  }
  made.starts_.push_back(static_cast<uint32_t>(made.bytes_.size()));  // end-of-text
  made.MakeTrie();
  return made;
}

void BpeVocabulary::AddToken(std::string_view bytes, uint32_t left, uint32_t right) {
  starts_.push_back(static_cast<uint32_t>(bytes_.size()));
  bytes_ += bytes;
  left_.push_back(static_cast<uint16_t>(left));
  right_.push_back(static_cast<uint16_t>(right));
}

// The trie holds tokens that are the encoding of their own bytes: all of GPT-2's, and all of any
// trained vocabulary. Invented merges can name a pair that older merges never leave side by side.
void BpeVocabulary::MakeTrie() {
  std::vector<bool> reached(end_of_text(), true);
  std::vector<ByteTrie::Word> words;
  for (uint16_t id = 0; id < end_of_text(); ++id) {
    if (id >= kBytes) {
      reached[id] =
          reached[left_[id]] && reached[right_[id]] && StayApart(left_[id], right_[id], id);
    }
    if (reached[id]) words.push_back({BytesOf(id), id});
  }
  trie_ = ByteTrie(words);
  for (uint16_t id = 0; id < end_of_text(); ++id) {
    const std::string_view bytes = BytesOf(id);
    shorter_.push_back(trie_.Longest(Bytes(bytes), Bytes(bytes) + bytes.size() - 1));
  }
}

std::string_view BpeVocabulary::BytesOf(uint16_t id) const {
  DT_CHECK(id < starts_.size());
  const size_t end = id + size_t{1} < starts_.size() ? starts_[id + size_t{1}] : bytes_.size();
  return std::string_view(bytes_).substr(starts_[id], end - starts_[id]);
}

std::string BpeVocabulary::Decode(std::span<const uint16_t> ids) const {
  std::string text;
  for (const uint16_t id : ids) {
    if (id < starts_.size()) text += BytesOf(id);
  }
  return text;
}

// Returns true if BPE leaves a and b as they are in the text that they form together. Undoes their
// merges from the newest on, and watches the pair at the seam: if that pair had an older merge than
// the undone ones, BPE would have made it first. Of equal merges the left one comes first. Merges
// from `undone` on do not exist.
bool BpeVocabulary::StayApart(uint32_t a, uint32_t b, uint32_t undone) const {
  for (;;) {
    if (Merged(a, b) < undone) return false;
    if (a > b && a >= kBytes) {
      undone = a;
      a = right_[a];
    } else if (b >= kBytes) {
      undone = b + 1;
      b = left_[b];
    } else {
      return true;  // both are single bytes
    }
  }
}

// A one-to-one hash of the pair. Its upper bits choose the place; its lower ones tell it from other
// pairs there, and leave two bits for "occupied" and the answer.
bool BpeVocabulary::StayApart(uint32_t a, uint32_t b, Scratch& scratch) const {
  uint32_t mixed = a << 16 | b;
  mixed = (mixed ^ mixed >> 15) * 0x2C1B3C6Du;
  mixed ^= mixed >> 16;
  uint32_t& kept = scratch.pairs_[mixed >> (32 - Scratch::kPairBits)];
  const uint32_t key = mixed << Scratch::kPairBits | 2;
  if ((kept & ~1u) != key) kept = key | (StayApart(a, b) ? 1 : 0);
  return (kept & 1) != 0;
}

// Every prefix has one encoding, in which every two neighbours stay apart. So this follows the
// longest tokens that stay apart, and steps back where none does. Only one path leads to a place,
// so each is entered once and left once.
uint16_t* BpeVocabulary::EncodePiece(std::string_view piece, Scratch& scratch,
                                     uint16_t* out) const {
  const unsigned char* at = Bytes(piece);
  const unsigned char* const end = at + piece.size();
  uint16_t* next = out;
  uint16_t token = trie_.Longest(at, end);
  while (at < end) {
    if (next == out || StayApart(next[-1], token, scratch)) {
      *next++ = token;
      at += BytesIn(token);
      token = trie_.Longest(at, end);
      continue;
    }
    while (shorter_[token] == ByteTrie::kNone) {
      DT_CHECK(next > out);
      token = *--next;
      at -= BytesIn(token);
    }
    token = shorter_[token];
  }
  return next;
}

BpeEncoder::BpeEncoder(const BpeVocabulary& vocabulary)
    : vocabulary_(vocabulary), words_(kWordPairs) {}

uint16_t* BpeEncoder::EncodeWord(const unsigned char* text, size_t bytes, uint16_t* out) {
  std::array<uint64_t, 2> key;
  std::memcpy(key.data(), text, sizeof key);
  key[0] &= kMasks[bytes].low;
  key[1] = (key[1] & kMasks[bytes].high) | uint64_t{bytes} << 56;
  const uint64_t mixed = (key[0] ^ std::rotl(key[1], 29)) * 0x9E3779B97F4A7C15ull;
  auto& [newer, older] = words_[(mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15ull >> kWordShift];
  for (const Word* word : {&newer, &older}) {
    if (word->text[0] != key[0] || word->text[1] != key[1]) continue;
    // Copies all ids: those beyond the count are overwritten later.
    std::memcpy(out, word->ids.data(), sizeof word->ids);
    return out + word->count;
  }
  uint16_t* const end =
      vocabulary_.EncodePiece({reinterpret_cast<const char*>(text), bytes}, scratch_, out);
  if (const auto count = static_cast<size_t>(end - out); count <= newer.ids.size()) {
    older = newer;
    newer.text = key;
    newer.count = static_cast<uint16_t>(count);
    std::copy(out, end, newer.ids.begin());
  }
  return end;
}

void BpeEncoder::Append(std::string_view text, std::vector<uint16_t>& ids) {
  const CharClass* const classes = CharClasses();
  const size_t before = ids.size();
  // There is at most one id for each byte; a cached word is always written completely.
  ids.resize(before + text.size() + Word{}.ids.size());
  uint16_t* out = ids.data() + before;
  const unsigned char* at = Bytes(text);
  const unsigned char* const end = at + text.size();
  while (at < end) {
    const unsigned char* const next = PieceEnd(classes, at, end);
    const auto bytes = static_cast<size_t>(next - at);
    if (bytes <= kWordBytes && end - at >= 16) {
      out = EncodeWord(at, bytes, out);
    } else {
      out = vocabulary_.EncodePiece({reinterpret_cast<const char*>(at), bytes}, scratch_, out);
    }
    at = next;
  }
  ids.resize(static_cast<size_t>(out - ids.data()));
}

size_t FirstPiece(std::string_view text) {
  const unsigned char* const start = Bytes(text);
  return static_cast<size_t>(PieceEnd(CharClasses(), start, start + text.size()) - start);
}

size_t SafeEnd(std::string_view text) {
  const CharClass* const classes = CharClasses();
  const unsigned char* const start = Bytes(text);
  for (size_t cut = text.size(); cut-- > 1;) {
    if (start[cut] >= 0x80 || classes[start[cut]] != CharClass::kSpace) continue;
    // The character before has at most four bytes.
    for (size_t length = 1; length <= std::min<size_t>(4, cut); ++length) {
      const Char before = ReadChar(classes, start + cut - length, start + cut);
      if (before.bytes != length) continue;
      if (before.kind != CharClass::kSpace && (length > 1 || start[cut - 1] < 0x80)) return cut;
      break;
    }
  }
  return 0;
}

}  // namespace dt::corpus
