#include "cli/view/top_keys.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "common/text.h"

namespace dt::cli {
namespace {

using Kind = Key::Kind;

constexpr char kEscape = '\x1b';
constexpr size_t kSequenceBytes = 16;  // no key sends more
constexpr size_t kFilterBytes = 100;   // as long as a line of the screen

// First key of `bytes`, and its number of bytes. No key: it is unknown or, with no bytes taken,
// incomplete.
struct Read {
  std::optional<Key> key;
  size_t bytes = 0;
};

std::optional<Key> SequenceKey(std::string_view body) {
  static const std::map<std::string_view, Kind> kKeys = {
      {"A", Kind::kUp},    {"B", Kind::kDown}, {"H", Kind::kHome},    {"F", Kind::kEnd},
      {"1~", Kind::kHome}, {"4~", Kind::kEnd}, {"5~", Kind::kPageUp}, {"6~", Kind::kPageDown},
      {"7~", Kind::kHome}, {"8~", Kind::kEnd}};
  const auto found = kKeys.find(body);
  return found == kKeys.end() ? std::nullopt : std::optional(Key{found->second});
}

Read ReadEscape(std::string_view bytes, MoreInput more) {
  const Read incomplete = {std::nullopt, more == MoreInput::kMayCome ? 0 : bytes.size()};
  if (bytes.size() == 1) {
    return more == MoreInput::kMayCome ? incomplete : Read{Key{Kind::kEscape}, 1};
  }
  if (bytes[1] == 'O') {
    if (bytes.size() == 2) return incomplete;
    return {SequenceKey(bytes.substr(2, 1)), 3};
  }
  if (bytes[1] != '[') return {Key{Kind::kEscape}, 1};
  for (size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) return {SequenceKey(bytes.substr(2, i - 1)), i + 1};
  }
  if (bytes.size() > kSequenceBytes) return {std::nullopt, bytes.size()};
  return incomplete;
}

Read ReadKey(std::string_view bytes, MoreInput more) {
  static const std::map<char, Kind> kControls = {
      {'\x03', Kind::kInterrupt}, {'\x1a', Kind::kSuspend},  {'\x0c', Kind::kRedraw},
      {'\t', Kind::kTab},         {'\r', Kind::kEnter},      {'\n', Kind::kEnter},
      {'\x7f', Kind::kBackspace}, {'\x08', Kind::kBackspace}};
  if (bytes.front() == kEscape) return ReadEscape(bytes, more);
  const auto control = kControls.find(bytes.front());
  if (control != kControls.end()) return {Key{control->second}, 1};
  if (const size_t length = Utf8Length(bytes); length > 0) {
    if (static_cast<unsigned char>(bytes.front()) < 0x20) return {std::nullopt, 1};
    return {Key{Kind::kCharacter, std::string(bytes.substr(0, length))}, length};
  }
  const bool may_become_whole = bytes.size() < 4 && more == MoreInput::kMayCome;
  return {std::nullopt, may_become_whole ? size_t{0} : size_t{1}};
}

void EditFilter(TopView& view, const Key& key) {
  switch (key.kind) {
    case Kind::kCharacter:
      if (view.filter.size() + key.text.size() <= kFilterBytes) view.filter += key.text;
      break;
    case Kind::kBackspace:
      // A character is its first byte and its continuation bytes.
      while (!view.filter.empty()) {
        const auto last = static_cast<unsigned char>(view.filter.back());
        view.filter.pop_back();
        if ((last & 0xc0) != 0x80) break;
      }
      break;
    case Kind::kEscape:
      view.filter.clear();
      view.typing_filter = false;
      break;
    case Kind::kEnter:
      view.typing_filter = false;
      break;
    case Kind::kUp:
    case Kind::kDown:
    case Kind::kPageUp:
    case Kind::kPageDown:
    case Kind::kHome:
    case Kind::kEnd:
    case Kind::kTab:
    case Kind::kInterrupt:
    case Kind::kSuspend:
    case Kind::kRedraw:
      break;
  }
  for (PaneView& pane : view.panes) pane.scroll = 0;
}

// Returns the next shown pane after the one in focus, or the same one if there is no other.
void NextPane(TopView& view) {
  auto at = static_cast<size_t>(view.focus);
  for (size_t i = 0; i < kPanes.size(); ++i) {
    at = (at + 1) % kPanes.size();
    if (!view.panes[at].shown) continue;
    view.focus = kPanes[at];
    return;
  }
}

void Toggle(TopView& view, Pane pane) {
  view.Of(pane).shown = !view.Of(pane).shown;
  if (!view.Of(view.focus).shown) NextPane(view);
}

Act PressCharacter(TopView& view, const std::string& text) {
  PaneView& pane = view.Of(view.focus);
  if (text == "q") return Act::kQuit;
  if (text == "s") {
    pane.sort = (pane.sort + 1) % SortableColumns(view.focus);
    pane.scroll = 0;
  } else if (text == "r") {
    pane.reversed = !pane.reversed;
    pane.scroll = 0;
  } else if (text == "f" || text == "/") {
    view.typing_filter = true;
  } else if (text == "e") {
    Toggle(view, Pane::kExperiments);
  } else if (text == "t") {
    Toggle(view, Pane::kTrials);
  } else if (text == "w") {
    Toggle(view, Pane::kWorkers);
  } else if (text == "p") {
    view.paused = !view.paused;
  } else if (text == "?") {
    view.help = true;
  }
  return Act::kNone;
}

void Scroll(TopView& view, Kind kind, const TopFrame& frame) {
  PaneView& pane = view.Of(view.focus);
  const PaneRoom& room = frame.Of(view.focus);
  const size_t last = room.in_all - std::min(room.in_all, room.shown);
  // Rows may have disappeared since the last key.
  size_t scroll = std::min(pane.scroll, last);
  const size_t page = std::max<size_t>(1, room.shown);
  if (kind == Kind::kUp) scroll -= std::min<size_t>(scroll, 1);
  if (kind == Kind::kDown) ++scroll;
  if (kind == Kind::kPageUp) scroll -= std::min(scroll, page);
  if (kind == Kind::kPageDown) scroll += page;
  if (kind == Kind::kHome) scroll = 0;
  if (kind == Kind::kEnd) scroll = last;
  pane.scroll = std::min(scroll, last);
}

}  // namespace

std::vector<Key> TakeKeys(std::string& bytes, MoreInput more) {
  std::vector<Key> keys;
  std::string_view left = bytes;
  while (!left.empty()) {
    Read read = ReadKey(left, more);
    if (read.bytes == 0) break;
    if (read.key.has_value()) keys.push_back(*std::move(read.key));
    left.remove_prefix(read.bytes);
  }
  bytes = std::string(left);
  return keys;
}

KeyResult Press(TopView view, const Key& key, const TopFrame& frame) {
  if (key.kind == Kind::kInterrupt) return {std::move(view), Act::kInterrupt};
  if (key.kind == Kind::kSuspend) return {std::move(view), Act::kSuspend};
  if (key.kind == Kind::kRedraw) return {std::move(view), Act::kRedraw};
  Act act = Act::kNone;
  if (view.help) {
    // Any key leaves the help; q quits at once, as everywhere.
    view.help = false;
    if (key.text == "q") act = Act::kQuit;
  } else if (view.typing_filter) {
    EditFilter(view, key);
  } else if (key.kind == Kind::kCharacter) {
    act = PressCharacter(view, key.text);
  } else if (key.kind == Kind::kTab) {
    NextPane(view);
  } else if (key.kind == Kind::kEscape) {
    view.filter.clear();
  } else if (view.Of(view.focus).shown) {
    Scroll(view, key.kind, frame);
  }
  return {std::move(view), act};
}

}  // namespace dt::cli
