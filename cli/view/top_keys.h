// top_keys.h: the keys of `dtctl top`, and their effects on the view.
//
// Role:   pure: bytes in, keys out; view and key in, view out.
// Source: ECMA-48 (CSI sequences) and xterm's keys, in both cursor modes.
// Tests:  tests/cli/view/top_keys_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/view/top_view.h"

namespace dt::cli {

struct Key {
  enum class Kind {
    kCharacter,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kTab,
    kEnter,
    kEscape,
    kBackspace,
    kInterrupt,  // Ctrl-C
    kSuspend,    // Ctrl-Z
    kRedraw,     // Ctrl-L
  };
  Kind kind = Kind::kCharacter;
  std::string text = {};  // of kCharacter, in UTF-8
  bool operator==(const Key&) const = default;
};

// Whether more bytes may follow: the Escape key sends the byte with which sequences begin.
enum class MoreInput { kMayCome, kNone };
// Takes every complete key from the front of `bytes`. Drops unknown ones.
std::vector<Key> TakeKeys(std::string& bytes, MoreInput more);

// Action to take besides drawing the view.
enum class Act { kNone, kQuit, kInterrupt, kSuspend, kRedraw };
struct KeyResult {
  TopView view;
  Act act = Act::kNone;
};
// Applies a key. `frame` is on the screen; scrolling ends at its last row.
KeyResult Press(TopView view, const Key& key, const TopFrame& frame);

}  // namespace dt::cli
