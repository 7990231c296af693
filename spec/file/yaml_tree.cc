// yaml_tree.cc: builds a tree from yaml-cpp's events, within limits, each node with its place.
#include "spec/file/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "spec/file/yaml_syntax.h"

namespace dt::spec {
namespace {

SourcePosition ToMark(const YAML::Mark& mark) {
  // Absent marks are -1; the start of the text is the nearest true place.
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1,
          static_cast<size_t>(std::max(mark.pos, 0)), 0};
}

constexpr size_t kKeyShown = 64;

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!Admit(mark, anchor, "")) return;
    YamlNode node;
    node.mark = ToMark(mark);
    Attach(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (!Admit(mark, 0, "")) return;
    Report(ToMark(mark), "alias", "aliases (*name) are not accepted", "write the value out");
    YamlNode node;
    node.mark = ToMark(mark);
    node.reported = true;
    Attach(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!Admit(mark, anchor, tag)) return;
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.mark = ToMark(mark);
    node.text = value;
    // yaml-cpp tags quoted and block text with "!", and plain text with "?".
    node.quoting = tag == "!" ? spec::Quoting::kQuoted : spec::Quoting::kPlain;
    if (node.quoting == spec::Quoting::kQuoted && !Closes(node.mark.offset)) {
      Report(node.mark, "syntax", "this quote is never closed");
    }
    Attach(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap, style);
  }
  void OnMapEnd() override { Close(); }

  void Report(SourcePosition mark, std::string code, std::string message, std::string hint = "") {
    problems_.push_back({mark, Path(), std::move(code), std::move(message), std::move(hint)});
  }
  bool gave_up() const { return gave_up_; }
  YamlTree Take() {
    YamlTree tree;
    tree.root = std::move(root_);
    tree.problems = std::move(problems_);
    return tree;
  }

 private:
  struct Frame {
    YamlNode node;
    std::string path;
    std::set<std::string> keys;
    bool has_key = false;
    bool duplicate = false;  // the next value belongs to a repeated key
    YamlEntry pending;
  };

  // yaml-cpp takes the end of the file for the end of a quoted text.
  bool Closes(size_t start) const {
    if (start >= text_.size()) return true;
    const char quote = text_[start];
    if (quote != '"' && quote != '\'') return true;  // a block, or a tag before it
    for (size_t i = start + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 == text_.size() || text_[i + 1] != quote) return true;
        ++i;
      }
    }
    return false;
  }

  std::string Path() const {
    if (stack_.empty()) return "";
    const Frame& top = stack_.back();
    return top.has_key ? ChildPath(top.path, top.pending.key) : top.path;
  }

  void GiveUp(const YAML::Mark& mark, const char* code, const std::string& message) {
    problems_.push_back({ToMark(mark), "", code, message, ""});
    gave_up_ = true;
  }

  // Counts a node and refuses constructs that no experiment file needs. Returns false if the tree
  // must stop growing.
  bool Admit(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    if (gave_up_) return false;
    if (++nodes_ > limits::kExperimentFileNodes) {
      GiveUp(mark, "too_many_nodes",
             absl::StrCat("the file has more than ", limits::kExperimentFileNodes, " values"));
      return false;
    }
    if (anchor != 0) {
      Report(ToMark(mark), "anchor", "anchors (&name) are not accepted", "remove it");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      Report(ToMark(mark), "tag", "tags (!name) are not accepted", "remove it");
    }
    return true;
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind, YAML::EmitterStyle::value style) {
    if (!Admit(mark, anchor, tag)) return;
    if (stack_.size() >= limits::kExperimentFileDepth) {
      GiveUp(mark, "too_deep",
             absl::StrCat("nested deeper than ", limits::kExperimentFileDepth, " levels"));
      return;
    }
    Frame frame;
    frame.path = ChildPathOfTop();
    frame.node.kind = kind;
    frame.node.mark = ToMark(mark);
    frame.node.style =
        style == YAML::EmitterStyle::Flow ? YamlNode::Style::kFlow : YamlNode::Style::kBlock;
    stack_.push_back(std::move(frame));
  }

  std::string ChildPathOfTop() const {
    if (stack_.empty()) return "";
    const Frame& top = stack_.back();
    if (top.node.kind == YamlNode::Kind::kSequence) {
      return absl::StrCat(top.path, "[", top.node.items.size(), "]");
    }
    return Path();
  }

  void Close() {
    if (gave_up_) return;
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Attach(std::move(node));
  }

  void Attach(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    if (top.node.kind == YamlNode::Kind::kSequence) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      TakeKey(top, node);
    } else {
      top.has_key = false;
      if (top.duplicate) return;
      // yaml-cpp places an omitted value at the next thing in the text.
      const bool left_out =
          node.kind == YamlNode::Kind::kNull && node.mark.line != top.pending.mark.line;
      if (left_out) node.mark = top.pending.mark;
      top.pending.value = std::move(node);
      top.node.entries.push_back(std::move(top.pending));
    }
  }

  void TakeKey(Frame& top, const YamlNode& node) {
    const SourcePosition mark = node.mark;
    // Paths are made of keys, and there is a path for each value.
    const bool long_key = node.text.size() > limits::kKeyBytes;
    top.pending = YamlEntry{long_key ? CleanText(node.text, kKeyShown) + "…" : node.text, mark, {}};
    top.duplicate = false;
    top.has_key = true;
    if (long_key) {
      Report(mark, "too_large",
             absl::StrCat("a key has ", node.text.size(), " bytes; at most ", limits::kKeyBytes,
                          " are allowed"),
             "give it a shorter name");
      top.duplicate = true;
      return;
    }
    if (node.kind != YamlNode::Kind::kScalar) {
      Report(mark, "syntax", "a key must be a word", "");
      top.duplicate = true;  // the value under it is ignored
    } else if (node.text == "<<" && node.quoting == spec::Quoting::kPlain) {
      Report(mark, "merge", "merges (<<) are not accepted", "write the fields out");
      top.duplicate = true;
    } else if (!top.keys.insert(node.text).second) {
      Report(mark, "duplicate_key",
             absl::StrCat("'", ChildPath(top.path, node.text), "' appears twice"), "keep one");
      top.duplicate = true;
    }
  }

  std::string_view text_;
  YamlNode root_;
  std::vector<Frame> stack_;
  std::vector<YamlProblem> problems_;
  size_t nodes_ = 0;
  bool gave_up_ = false;
};

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns where the bytes stop being text that a person could have typed; nullopt: nowhere.
std::optional<size_t> FirstBadByte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text.substr(i));
    const bool control =
        (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f;
    const bool mark = i > 0 && text.substr(i, length) == kByteOrderMark;
    if (length == 0 || control || mark) return i;
    i += length;
  }
  return std::nullopt;
}

SourcePosition MarkAt(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(newline == std::string_view::npos ? offset : offset - newline - 1) + 1,
          offset, 0};
}

// Returns where the line's indentation has a tab, which YAML forbids; yaml-cpp complains elsewhere.
std::optional<SourcePosition> TabIn(std::string_view text, const SourcePosition& mark) {
  const size_t start = mark.offset - std::min(mark.offset, static_cast<size_t>(mark.column - 1));
  const size_t first = text.find_first_not_of(' ', start);
  if (first == std::string_view::npos || text[first] != '\t') return std::nullopt;
  return MarkAt(text, first);
}

bool IsPlain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (IsNullYaml(text)) return false;
  const bool word = absl::ascii_isalnum(text[0]) || text[0] == '_' || text[0] == '/' ||
                    text[0] == '.' ||
                    ((text[0] == '-' || text[0] == '+') && text.size() > 1 &&
                     (absl::ascii_isdigit(text[1]) || text[1] == '.'));
  return word && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '+' || c == '.' ||
                  c == '/' || c == '*' || c == ' ' || c == '(' || c == ')';
         });
}

std::string Scalar(const std::string& text, spec::Quoting quoting) {
  if (quoting == spec::Quoting::kPlain && IsPlain(text)) return text;
  return QuotedYaml(text);
}

std::string Flow(const YamlNode& node) {
  std::string out;
  const auto separate = [&out] { out += out.size() > 1 ? ", " : ""; };
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar:
      return Scalar(node.text, node.quoting);
    case YamlNode::Kind::kSequence:
      out = "[";
      for (const YamlNode& item : node.items) {
        separate();
        out += Flow(item);
      }
      return out + "]";
    case YamlNode::Kind::kMap:
      out = "{";
      for (const YamlEntry& entry : node.entries) {
        separate();
        out += Scalar(entry.key, spec::Quoting::kPlain) + ": " + Flow(entry.value);
      }
      return out + "}";
  }
  return out;
}

}  // namespace

std::string ChildPath(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : absl::StrCat(parent, ".", key);
}

bool IsNullYaml(std::string_view text) {
  return text == "~" || absl::EqualsIgnoreCase({text.data(), text.size()}, "null");
}

YamlTree ParseYaml(std::string_view text) {
  YamlTree refused;
  if (text.size() > limits::kExperimentFileBytes) {
    refused.problems.push_back({SourcePosition(), "", "too_large",
                                absl::StrCat("the file has ", text.size(), " bytes; at most ",
                                             limits::kExperimentFileBytes, " are allowed"),
                                ""});
    return refused;
  }
  if (const auto bad = FirstBadByte(text)) {
    const auto byte = static_cast<unsigned char>(text[*bad]);
    const bool mark = text.substr(*bad, kByteOrderMark.size()) == kByteOrderMark;
    refused.problems.push_back(
        {MarkAt(text, *bad), "", "bad_text",
         mark ? "there is a byte order mark (U+FEFF) here, which editors do not show"
              : absl::StrCat("byte 0x", absl::Hex(byte, absl::kZeroPad2), " is not text in UTF-8"),
         mark ? "delete it; only the start of a file may have one" : "save the file as UTF-8"});
    return refused;
  }
  Builder builder(text);
  bool readable = false;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    Builder second(text);
    readable = !builder.gave_up();
    if (parser && parser.HandleNextDocument(second)) {
      builder.Report(SourcePosition(), "several_documents",
                     "the file holds several documents (---)", "submit one file for each");
    }
  } catch (const YAML::Exception& error) {
    readable = false;
    // Beyond a limit the rest was not read; complaints about it would only distract.
    if (!builder.gave_up()) {
      const SourcePosition mark = ToMark(error.mark);
      if (const auto tab = TabIn(text, mark)) {
        builder.Report(*tab, "syntax", "a tab indents this line", "indent with spaces");
      } else {
        SyntaxText explained = ExplainSyntax(text, mark.line, mark.column, error.msg);
        builder.Report(mark, "syntax", std::move(explained.message), std::move(explained.hint));
      }
    }
  } catch (const std::exception& error) {
    readable = false;
    builder.Report(SourcePosition(), "syntax", absl::StrCat("this is not YAML: ", error.what()));
  }
  YamlTree tree = builder.Take();
  tree.readable = readable;
  return tree;
}

std::string PrintYaml(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::kMap) return Flow(root) + "\n";
  std::string out;
  for (const YamlEntry& section : root.entries) {
    absl::StrAppend(&out, Scalar(section.key, spec::Quoting::kPlain), ":");
    const YamlNode& value = section.value;
    if (value.kind != YamlNode::Kind::kMap || value.entries.empty()) {
      absl::StrAppend(&out, " ", Flow(value), "\n");
      continue;
    }
    out += "\n";
    for (const YamlEntry& entry : value.entries) {
      absl::StrAppend(&out, "  ", Scalar(entry.key, spec::Quoting::kPlain), ": ", Flow(entry.value),
                      "\n");
    }
  }
  return out;
}

std::string KindText(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

}  // namespace dt::spec
